//! ECN (RFC 3168): a mark does what a drop does, and nothing is lost.

use crate::bed::{close, drops, marks, runs};

#[test]
fn marks_take_the_place_of_drops() {
    for (discipline, cca) in
        [("codel", "cubic"), ("codel", "newreno"), ("pie", "cubic"), ("pie", "newreno"), ("titrate", "cubic")]
    {
        let scenario = |ecn: bool| {
            format!(
                "[link]\nrate = \"20mbit\"\nbuffer = \"1000p\"\n[[flows]]\ncount = 4\ncca = \"{cca}\"\nrtt = \"40ms\"\necn = {ecn}\n\
                 [queue]\ndisciplines = [{{ name = \"{discipline}\", ecn = {ecn} }}]\n\
                 [run]\nduration = \"40s\"\nwarmup = \"10s\"\nseeds = [1, 2]\nsample = \"1s\"\n"
            )
        };
        for (with, without) in runs(&scenario(true)).iter().zip(&runs(&scenario(false))) {
            let what = format!("{discipline}, {cca}");
            println!(
                "{what}: {} marks, {} drops; without: {} drops",
                marks(with),
                drops(with),
                drops(without)
            );
            assert_eq!((drops(with), marks(without)), (0, 0), "{what}");
            let resent: u64 = with.flows.iter().map(|f| f.retransmits).sum();
            assert_eq!(resent, 0, "{what}: nothing was lost");
            assert!(marks(with) > 20 && drops(without) > 20, "{what}");
            close(&what, with.groups[0].goodput_bps, without.groups[0].goodput_bps, 0.03, 0.0);
        }
    }
}

/// Flows that did not negotiate ECN are dropped beside flows that are marked.
#[test]
fn the_rest_is_still_dropped() {
    let toml = "[link]\nrate = \"20mbit\"\nbuffer = \"1000p\"\n\
         [[flows]]\nname = \"ect\"\ncount = 2\ncca = \"cubic\"\nrtt = \"40ms\"\necn = true\n\
         [[flows]]\nname = \"not\"\ncount = 2\ncca = \"cubic\"\nrtt = \"40ms\"\n\
         [queue]\ndisciplines = [{ name = \"codel\", ecn = true }]\n[run]\nduration = \"40s\"\nwarmup = \"10s\"\n";
    for r in runs(toml) {
        assert!(marks(&r) > 20 && drops(&r) > 20);
        for f in &r.flows {
            assert_eq!(f.retransmits > 0, f.group == "not", "{f:?}");
        }
        let share = r.groups[0].goodput_bps / (r.groups[0].goodput_bps + r.groups[1].goodput_bps);
        close("share of the marked", share, 0.5, 0.0, 0.1);
    }
}
