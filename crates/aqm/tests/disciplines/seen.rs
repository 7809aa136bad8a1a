//! What another host has: whatever its bits are, looking at it and following it end well.

use proptest::prelude::*;
use queuewright_aqm::{Discipline, POLICY_INPUTS, Packet, Queue, Seen, Spec, registry};

/// Noise of that length, or a pattern of it.
fn noise(seed: u64, length: usize) -> Vec<u8> {
    let mut x = seed;
    let mut next = move || {
        x = x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (x >> 56) as u8
    };
    match seed % 4 {
        0 => vec![0; length],
        1 => vec![255; length],
        _ => (0..length).map(|_| next()).collect(),
    }
}

#[test]
fn what_it_shows_is_what_the_other_shows() {
    for info in registry() {
        let mut other = Discipline::new(&Spec::new(info));
        let queue = Queue { bytes: 15_000, packets: 10, limit_packets: 1000, ..Queue::default() };
        let packet = Packet { bytes: 1500, flow: 7, ..Packet::default() };
        for i in 0..50 {
            other.enqueue_to(i * 1_000_000, &queue, &packet, 1 << 31);
        }
        let seen = Seen::of(info, &other.params_bytes(), &other.state_bytes()).expect("its sizes");
        assert_eq!(seen.variables().count(), other.probes().len());
        for (i, (probe, value)) in seen.variables().enumerate() {
            assert_eq!(value.to_bits(), other.probe(i).to_bits(), "{} {}", info.name, probe.name);
        }
        assert!(Seen::of(info, &[], &other.state_bytes()).is_none() || other.params_bytes().is_empty());
        assert!(Seen::of(info, &other.params_bytes(), &other.state_bytes()[1..]).is_none());
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(32) })]

    #[test]
    fn any_bits_can_be_shown(seed: u64) {
        for info in registry() {
            let own = Discipline::new(&Spec::new(info));
            let (params, state) = (own.params_bytes().len(), own.state_bytes().len());
            let seen = Seen::of(info, &noise(seed, params), &noise(seed ^ 2, state)).expect("its sizes");
            prop_assert!(seen.variables().all(|(_, value)| value.is_finite()), "{}", info.name);
        }
    }

    #[test]
    fn any_bits_can_be_followed(seed: u64, now: u64) {
        let info = queuewright_aqm::find("queuepilot").expect("it is there");
        let mut pilot = Discipline::new(&Spec::new(info));
        let size = pilot.state_size();
        for i in 0..8 {
            if let Some((inputs, _)) = pilot.follow(&noise(seed.wrapping_add(i), size), now) {
                prop_assert_eq!(inputs.len(), POLICY_INPUTS);
            }
            prop_assert!((pilot.act(u32::MAX) as usize) < info.network.expect("it learns").actions_percent.len());
        }
        prop_assert!(pilot.follow(&noise(seed, size - 1), now).is_none());
    }
}
