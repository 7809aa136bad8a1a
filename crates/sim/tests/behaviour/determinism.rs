//! Same scenario and seed, same bytes: alone, again, and beside others.

use crate::bed::{run, specs};
use queuewright_results::Run;
use queuewright_scenario::RunSpec;

/// Everything of a result but how long it took, as text.
fn text(run: &Run) -> String {
    let timeless = Run { wall_s: 0.0, packets_per_s: 0.0, ..run.clone() };
    let json = serde_json::to_string(&timeless).expect("plain data");
    // Floats in Debug print all their digits.
    format!("{json}\n{:?}", timeless.detail)
}

fn matrix() -> Vec<RunSpec> {
    specs(
        "[link]\nrate = \"30mbit\"\nbuffer = \"1bdp\"\n\
         [[flows]]\ncount = \"3..8\"\ncca = { newreno = 1, cubic = 2, bbr = 2 }\nrtt = \"5ms..60ms\"\nstart = \"0s..2s\"\njitter = \"1ms\"\necn = true\n\
         [[flows]]\npoisson = \"2mbit\"\n\
         [queue]\ndisciplines = [\"droptail\", \"codel\", \"pie\", \"titrate\"]\n\
         [run]\nduration = \"8s\"\nwarmup = \"1s\"\nseeds = [1, 2]\n",
    )
}

#[test]
fn one_thread_or_many_give_the_same_bytes() {
    let specs = matrix();
    let alone: Vec<String> = specs.iter().map(|s| text(&run(s))).collect();
    assert_eq!(text(&run(&specs[0])), alone[0], "the same again");
    let together: Vec<String> = std::thread::scope(|scope| {
        let threads: Vec<_> = specs.iter().map(|s| scope.spawn(move || text(&run(s)))).collect();
        threads.into_iter().map(|t| t.join().expect("the thread ends")).collect()
    });
    assert!(alone == together, "results depend on threads");
}

#[test]
fn seeds_differ_and_so_do_disciplines() {
    let texts: Vec<String> = matrix().iter().map(|s| text(&run(s))).collect();
    for (i, a) in texts.iter().enumerate() {
        for b in &texts[..i] {
            assert!(a != b, "two runs of the matrix are the same");
        }
    }
}

/// How often one looks is no part of what happens.
#[test]
fn the_time_series_does_not_change_the_run() {
    let scenario = |sample: &str| {
        format!(
            "[link]\nrate = \"20mbit\"\n[[flows]]\ncount = 2\ncca = \"cubic\"\nrtt = \"20ms\"\n\
             [queue]\ndisciplines = [\"titrate\"]\n[run]\nduration = \"10s\"\nwarmup = \"2s\"\nsample = \"{sample}\"\n"
        )
    };
    let without = |toml: &str| {
        let mut r = run(&specs(toml)[0]);
        r.detail = queuewright_results::Detail::default();
        text(&r)
    };
    assert_eq!(without(&scenario("1ms")), without(&scenario("700ms")));
}

#[test]
fn a_stopped_run_says_so() {
    let stop = std::sync::atomic::AtomicBool::new(true);
    let result = queuewright_sim::run(&matrix()[0], &stop, &|_| ());
    assert_eq!(result.err(), Some(queuewright_sim::Error::Stopped));
}

#[test]
fn progress_rises_to_one() {
    let told = std::cell::RefCell::new(Vec::new());
    let stop = std::sync::atomic::AtomicBool::new(false);
    queuewright_sim::run(&matrix()[0], &stop, &|share| told.borrow_mut().push(share)).expect("it ends");
    let told = told.into_inner();
    assert!(
        told.windows(2).all(|w| w[0] <= w[1]) && told.last() == Some(&1.0) && told.len() > 50,
        "{told:?}"
    );
}
