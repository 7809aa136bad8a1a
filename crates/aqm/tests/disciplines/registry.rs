//! The registry: complete, consistent with the C side, and strict.

use queuewright_aqm::{
    Discipline, Packet, ParamError, ParamKind, Queue, Spec, Value, Weights, counters, find, registry,
    weights_in,
};

#[test]
fn fixed_names() {
    let names: Vec<_> = registry().iter().map(|i| i.name).collect();
    assert!(names.starts_with(&["droptail", "static", "codel", "pie"]));
    for (i, info) in registry().iter().enumerate() {
        assert!(!names[..i].contains(&info.name), "{} is there twice", info.name);
        assert!(std::ptr::eq(find(info.name).unwrap(), info), "{} is found elsewhere", info.name);
    }
    assert!(find("codle").is_none());
}

#[test]
fn every_entry_builds_and_is_documented() {
    for info in registry() {
        // Panics if shim.c lacks the discipline or one of its parameters.
        let mut d = Discipline::new(&Spec::new(info));
        d.enqueue(0, &Queue::default(), &Packet::default(), 0);
        for i in 0..d.probes().len() {
            assert!(d.probe(i).is_finite());
        }
        assert_eq!(d.probe(d.probes().len()), 0.0);
        assert!(!info.about.contains('\n') && !info.about.ends_with('.'));
        for text in [info.title, info.about, info.source] {
            assert!(!text.is_empty());
        }
        for p in info.params {
            assert!(!p.about.is_empty() && !p.source.is_empty(), "{}", p.name);
            assert!(
                info.explain.contains(&format!("`{}`", p.name)),
                "docs/disciplines/{}.md does not speak of `{}`",
                info.name,
                p.name
            );
        }
    }
}

#[test]
fn defaults_and_bounds_are_allowed_and_what_is_beyond_is_not() {
    for info in registry() {
        for p in info.params {
            let mut spec = Spec::new(info);
            assert_eq!(spec.get(p.name), Some(p.default));
            for ok in [p.default, p.min, p.max] {
                spec.set(p.name, ok).unwrap_or_else(|e| panic!("{}: {e}", info.name));
                assert_eq!(spec.get(p.name), Some(ok));
                Discipline::new(&spec);
            }
            if p.zero.is_some() {
                spec.set(p.name, Value::Int(0)).unwrap();
            }
            let beyond = match p.max {
                Value::Int(v) => Value::Int(v + 1),
                Value::Real(v) => Value::Real(v * 1.01 + 0.01),
                Value::Flag(_) => Value::Int(2),
                Value::Choice(_) => Value::Choice("no such word"),
            };
            let before = spec.clone();
            let error = spec.set(p.name, beyond).unwrap_err();
            assert!(error.to_string().contains(&p.allowed()), "{error}");
            assert_eq!(spec, before, "a refused value changes nothing");
            assert!(spec.set(p.name, Value::Real(f64::NAN)).is_err());
            match p.kind {
                ParamKind::Time | ParamKind::Size | ParamKind::Rate | ParamKind::Count => {
                    assert!(spec.set(p.name, Value::Real(1.0)).is_err());
                }
                _ => {}
            }
        }
    }
}

#[test]
fn values_are_shown_in_their_units() {
    let mut codel = Spec::new(find("codel").unwrap());
    codel.set("target", Value::Int(2_500_000)).unwrap();
    codel.set("ecn", Value::Flag(true)).unwrap();
    let shown: Vec<_> = codel.iter().map(|(p, v)| format!("{}={}", p.name, p.display(v))).collect();
    assert_eq!(shown.join(" "), "target=2500us interval=100ms ecn=true ce_threshold=off mtu=1514b");
    let pie = Spec::new(find("pie").unwrap());
    let shown: Vec<_> = pie.iter().map(|(p, v)| format!("{}={}", p.name, p.display(v))).collect();
    assert_eq!(
        shown.join(" "),
        "target=15ms tupdate=15ms alpha=0.125 beta=1.25 max_burst=150ms ecn=false \
         ecn_threshold=0.1 bytemode=false estimator=timestamp mtu=1514b"
    );
}

#[test]
fn errors_say_what_is_allowed() {
    let mut codel = Spec::new(find("codel").unwrap());
    let e = codel.set("traget", Value::Int(1)).unwrap_err();
    assert!(matches!(e, ParamError::Unknown { .. }));
    assert_eq!(
        e.to_string(),
        "`codel` has no parameter `traget`; it has target, interval, ecn, ce_threshold, mtu"
    );
    let e = codel.set("target", Value::Int(20_000_000_000)).unwrap_err();
    assert_eq!(e.to_string(), "`target` of `codel` cannot be 20s; allowed: 1us .. 10s");
    let e = Spec::new(find("droptail").unwrap()).set("limit", Value::Int(1)).unwrap_err();
    assert_eq!(e.to_string(), "`droptail` takes no parameters (found `limit`)");
    let e = Spec::new(find("pie").unwrap()).set("estimator", Value::Choice("guess")).unwrap_err();
    assert_eq!(e.to_string(), "`estimator` of `pie` cannot be guess; allowed: timestamp or rate");
}

/// What a file of weights must say is what the header has room for.
#[test]
fn networks_are_the_headers() {
    for info in registry() {
        let has_file = info.params.iter().any(|p| p.kind == ParamKind::File);
        assert_eq!(has_file, info.network.is_some(), "{}", info.name);
        let Some(network) = info.network else { continue };
        let count: usize = network.tensors.iter().map(|t| t.count()).sum();
        let weights = |n: usize| Weights { values: vec![0; n].into(), id: "zeros".into() };
        let mut spec = Spec::new(info);
        spec.set_weights(weights(count)).unwrap();
        assert!(spec.set_weights(weights(count + 1)).is_err());
        assert!(spec.shown().any(|(p, shown)| p.kind == ParamKind::File && shown == "zeros"));
        let size = |name: &str| network.dimensions.iter().find(|d| d.0 == name).unwrap().1 as usize;
        assert_eq!(size("inputs"), network.observations.len() + network.actions_percent.len() + 1);
        assert_eq!(size("actions"), network.actions_percent.len());
    }
}

/// tc's units: a rate's are powers of 1,000, a size's of 1,024; in the largest that needs no fraction, sizes only where that is much shorter.
#[test]
fn rates_and_sizes_are_shown_in_tcs_units() {
    let shown = |discipline: &str, kind, value| {
        let params = find(discipline).unwrap().params;
        params.iter().find(|p| p.kind == kind).unwrap().display(Value::Int(value))
    };
    for (bits, text) in [
        (999, "999bit"),
        (1_000, "1kbit"),
        (1_500, "1500bit"),
        (64_000, "64kbit"),
        (1_000_000, "1mbit"),
        (2_500_000, "2500kbit"),
        (1_000_000_000, "1gbit"),
        (2_500_000_000, "2500mbit"),
    ] {
        assert_eq!(shown("ared", ParamKind::Rate, bits), text);
    }
    for (bytes, text) in [
        (1_514, "1514b"),
        (9_216, "9216b"),
        (10_240, "10kb"),
        (10_241, "10241b"),
        (3 << 20, "3mb"),
        ((3 << 20) + 1024, "3073kb"),
        (5 << 30, "5gb"),
    ] {
        assert_eq!(shown("codel", ParamKind::Size, bytes), text);
    }
}

/// A whole number is a real one, too; a real one is no count.
#[test]
fn whole_numbers_are_taken_for_real_ones() {
    let mut pie = Spec::new(find("pie").unwrap());
    pie.set("ecn_threshold", Value::Int(1)).unwrap();
    assert_eq!(pie.get("ecn_threshold"), Some(Value::Real(1.0)));
    assert!(pie.set("ecn_threshold", Value::Int(2)).is_err());
}

#[test]
fn what_differs_in_anything_is_not_equal() {
    let codel = Spec::new(find("codel").unwrap());
    assert_eq!(codel, codel.clone());
    assert_ne!(codel, Spec::new(find("pie").unwrap()));
    let mut other = codel.clone();
    other.set("target", Value::Int(6_000_000)).unwrap();
    assert_ne!(codel, other);
}

/// What a discipline does not have: a policy to observe, queues with names, a threshold, dice.
#[test]
fn tail_drop_has_none_of_what_others_have() {
    let info = find("droptail").unwrap();
    let spec = Spec::new(info);
    let mut d = Discipline::new(&spec);
    assert_eq!((d.observe(0), d.threshold(), d.claim(0), d.needs_random()), (None, 0, 0, false));
    assert!((info.queue_names)(&spec).is_empty());
    assert!(Discipline::new(&Spec::new(find("red").unwrap())).needs_random());
    assert!(weights_in(info, &d.params_bytes()).is_none());
}

/// The weights that parameters have are those that were put into them, wherever they are; other parameters are not taken for weights.
#[test]
fn weights_are_found_again() {
    for info in registry() {
        let Some(network) = info.network else { continue };
        let count: usize = network.tensors.iter().map(|t| t.count()).sum();
        let values: Vec<i16> = (0..count).map(|i| (i as i16).wrapping_mul(40_503_u16 as i16)).collect();
        let mut spec = Spec::new(info);
        spec.set_weights(Weights { values: values.clone().into(), id: "any".into() }).unwrap();
        let params = Discipline::new(&spec).params_bytes();
        assert_eq!(weights_in(info, &params), Some(values), "{}", info.name);
        assert_eq!(weights_in(info, &params[1..]), None);
    }
}

/// Counts in words, and the octave below which a share of the packets waited: 2^i to 2^(i+1) ns in place i.
#[test]
fn counters_are_said_in_words() {
    assert_eq!(counters::reasons(&[0, 3, 0, 7, 0], ", "), "3 limit, 7 sojourn");
    assert_eq!(counters::reasons(&[0; 5], ", "), "none");
    let mut octaves = [0; counters::SOJOURNS];
    assert_eq!(counters::sojourn_below_ns(&octaves, 0.5), 0);
    (octaves[10], octaves[20], octaves[30]) = (50, 49, 1);
    let below = |share| counters::sojourn_below_ns(&octaves, share);
    assert_eq!([0.5, 0.51, 0.99, 1.0].map(below), [2 << 10, 2 << 20, 2 << 20, 2 << 30]);
    assert_eq!(counters::sum(&[u64::MAX, 2]), u64::MAX);
}
