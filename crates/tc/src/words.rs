//! The words on tc's command line.

use queuewright_aqm::{Info, ParamKind, Spec};
use queuewright_scenario::units::Unit;
use queuewright_scenario::{Flags, Scenario};
use std::fmt::Write;

/// What is asked of the qdisc.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct QdiscRequest {
    /// Packets that may wait.
    pub limit: Option<u32>,
    /// Bytes that may wait.
    pub limit_bytes: Option<u64>,
    /// Names and numbers, as the module has them.
    pub params: Vec<(&'static str, u64)>,
    /// Of a learned policy.
    pub weights: Option<Vec<i16>>,
    /// The same as everywhere on Queuewright's command lines, `titrate:interval=500ms`, and what that is.
    pub text: String,
    pub spec: Option<Spec>,
    /// Of the shaper that BPF qdiscs have: bits a second, and bytes that the link adds to each packet.
    pub rate: u64,
    pub overhead: i32,
}

/// Reads the words. Of a qdisc that is made all parameters are said, of one that is changed those alone that are named.
/// `shapes`: it has a shaper of its own.
pub(crate) fn read(
    info: &'static Info,
    words: &[String],
    creates: bool,
    shapes: bool,
) -> Result<QdiscRequest, String> {
    let mut wish = QdiscRequest::default();
    let (mut text, mut named) = (info.name.to_string(), Vec::new());
    let mut rest = words.iter().map(String::as_str).peekable();
    while let Some(word) = rest.next() {
        let mut value = || rest.next().ok_or_else(|| format!("{word} needs a value"));
        match word {
            // Some disciplines have a limit of their own, by which they choose what to drop.
            "limit" if info.param("limit").is_none() => wish.limit = Some(packets(value()?)?),
            "rate" if shapes => {
                let text = value()?;
                wish.rate = Unit::Rate.parse(text).map_err(|why| format!("rate = {text:?}: {why}"))?;
            }
            "overhead" if shapes => {
                let text = value()?;
                let wrong = || format!("overhead = {text:?}: not a number of bytes, such as 18 or -14");
                wish.overhead = text.parse().map_err(|_| wrong())?;
            }
            "limit_bytes" => wish.limit_bytes = Some(bytes(value()?)?),
            _ => {
                let off = word.strip_prefix("no").and_then(|name| info.param(name));
                let (param, value) = match (info.param(word), off.filter(|p| p.kind == ParamKind::Flag)) {
                    // A flag may stand alone, as with tc's own qdiscs: `ecn`, `noecn`.
                    (None, Some(param)) => (param, "false"),
                    (Some(param), _) if param.kind == ParamKind::Flag => {
                        (param, rest.next_if(|word| ["true", "false"].contains(word)).unwrap_or("true"))
                    }
                    (Some(param), _) => (param, value()?),
                    (None, None) => {
                        return Err(format!(
                            "{word:?} is nothing of {}'s; {}",
                            info.name,
                            known(info, shapes)
                        ));
                    }
                };
                // These would begin something else in the text that is read below.
                if value.contains([':', ',', '=']) && param.kind != ParamKind::File {
                    return Err(format!("{} cannot be {value:?}; allowed: {}", param.name, param.allowed()));
                }
                let _ = write!(text, ":{}={value}", param.name);
                named.push(param.name);
            }
        }
    }
    let spec = spec(&text, wish.rate)?;
    for (param, value) in spec.iter().filter(|(p, _)| p.kind != ParamKind::File) {
        if creates || named.contains(&param.name) {
            wish.params.push((param.name, param.encode(value)));
        }
    }
    wish.weights = spec.weights().map(|w| w.values.to_vec());
    (wish.text, wish.spec) = (text, Some(spec));
    Ok(wish)
}

/// As everywhere on Queuewright's command lines: `titrate:interval=500ms`, at a rate in bits a second if that is known.
fn spec(text: &str, rate: u64) -> Result<Spec, String> {
    let flags = Flags {
        rate: Some(if rate > 0 { format!("{rate}bit") } else { "100mbit".into() }),
        rtt: Some("100ms".into()),
        flows: Some("1xcubic".into()),
        aqm: Some(text.into()),
        ..Flags::default()
    };
    let run = Scenario::from_flags(&flags).and_then(|scenario| scenario.runs());
    // It was no flag here.
    let mut runs = run.map_err(|e| e.to_string().replace("--aqm[0].", "").replace("--aqm[0] = ", ""))?;
    let port = runs.pop().and_then(|mut run| run.ports.pop());
    port.map(|port| port.discipline).ok_or_else(|| format!("{text:?} is no discipline"))
}

fn packets(text: &str) -> Result<u32, String> {
    let count = text.strip_suffix('p').unwrap_or(text).parse().ok();
    count
        .filter(|n| (1..=1_000_000).contains(n))
        .ok_or_else(|| format!("limit cannot be {text:?}; allowed: 1 to 1000000 packets, such as 1000p"))
}

fn bytes(text: &str) -> Result<u64, String> {
    match text {
        "none" => Ok(0),
        _ => Unit::Bytes.parse(text).map_err(|why| format!("limit_bytes = {text:?}: {why}; or none")),
    }
}

fn known(info: &Info, shapes: bool) -> String {
    let mut names = if shapes { vec!["rate", "overhead"] } else { Vec::new() };
    names.extend(["limit", "limit_bytes"]);
    names.extend(info.params.iter().map(|p| p.name).filter(|name| *name != "limit"));
    format!("it has {}", names.join(", "))
}

/// What `tc qdisc add ... qw_codel help` prints.
pub(crate) fn help(info: &Info, kind: &str, shapes: bool) -> String {
    let mut out = format!(
        "Usage: ... {kind} {}[ limit PACKETS ] [ limit_bytes SIZE ] [ PARAMETER VALUE ] ...\n{}: {}\n",
        if shapes { "[ rate RATE ] [ overhead BYTES ] " } else { "" },
        info.title,
        info.about
    );
    for p in info.params {
        let default = p.display(p.default);
        let _ = writeln!(out, "  {:<16} {}; {} ({default})", p.name, p.about, p.allowed());
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use queuewright_aqm::find;

    fn wish(name: &str, words: &str, creates: bool) -> Result<QdiscRequest, String> {
        let words: Vec<String> = words.split_whitespace().map(String::from).collect();
        read(find(name).expect("in the registry"), &words, creates, false)
    }

    #[test]
    fn only_a_bpf_qdisc_has_a_shaper() {
        let words = ["rate", "20mbit", "overhead", "-4", "target", "2ms"].map(String::from);
        let codel = find("codel").expect("in the registry");
        let wish = read(codel, &words, true, true).expect("fine");
        assert_eq!((wish.rate, wish.overhead, wish.text.as_str()), (20_000_000, -4, "codel:target=2ms"));
        assert!(read(codel, &words, true, false).expect_err("a rate").contains("limit_bytes"));
        assert!(read(codel, &["overhead".into(), "x".into()], true, true).is_err());
    }

    #[test]
    fn a_qdisc_that_is_made_is_told_everything() {
        let made = wish("codel", "target 2ms ecn limit 7p limit_bytes 3kb", true).expect("fine");
        assert_eq!((made.limit, made.limit_bytes), (Some(7), Some(3072)));
        let given = [
            ("target", 2_000_000),
            ("interval", 100_000_000),
            ("ecn", 1),
            ("ce_threshold", 0),
            ("mtu", 1514),
        ];
        assert_eq!(made.params, given);
    }

    #[test]
    fn one_that_is_changed_is_told_what_is_named() {
        let changed = wish("codel", "noecn interval 50ms", false).expect("fine");
        assert_eq!(changed.params, [("interval", 50_000_000), ("ecn", 0)]);
        assert_eq!((changed.limit, changed.limit_bytes, changed.weights), (None, None, None));
        assert_eq!(wish("codel", "ecn false", false).expect("fine").params, [("ecn", 0)]);
    }

    #[test]
    fn a_limit_of_its_own_is_a_parameter() {
        let made = wish("fq-codel", "limit 500", false).expect("fine");
        assert_eq!((made.limit, made.params), (None, vec![("limit", 500)]));
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (words, why) in [
            ("target", "target needs a value"),
            ("tarjet 3ms", "it has limit, limit_bytes, target"),
            ("target 3", "a time needs a unit"),
            ("target 300s", "allowed: 1us to 10s"),
            ("target 3ms:ecn", "cannot be"),
            ("limit 0", "1 to 1000000 packets"),
            ("limit_bytes 3", "a size needs a unit"),
        ] {
            let said = wish("codel", words, true).expect_err(words);
            assert!(said.contains(why), "{words}: {said}");
        }
    }
}
