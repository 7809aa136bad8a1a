//! The example of docs/how-to/in-a-unit-test-of-a-quic-stack.md. The page shows what stands between the two lines below.

// From here on.
use queuewright_cca::{CaState, Conn, Control, Flavour, Info, Kind};
use queuewright_results::events::{Observer, QueueEvent, SenderAction, SenderEvent};
use queuewright_scenario::{RunSpec, Scenario};
use queuewright_sim::{run, run_observed};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

/// The stack's own controller. Its window is in bytes.
#[derive(Debug, Clone)]
struct Controller {
    window: u64,
    threshold: u64,
    packet: u64,
}

impl Controller {
    fn on_ack(&mut self, bytes: u64) {
        let slow_start = self.window < self.threshold;
        self.window += if slow_start { bytes } else { self.packet * bytes / self.window };
    }

    fn on_congestion_event(&mut self) {
        self.window = (self.window * 7 / 10).max(2 * self.packet);
        self.threshold = self.window;
    }

    fn on_persistent_congestion(&mut self) {
        self.window = 2 * self.packet;
    }
}

/// The same, as the simulator calls it. Its windows are in packets.
#[derive(Debug, Clone)]
struct Adapter(Controller);

impl Control for Adapter {
    const INFO: Info = Info { name: "mine", ..Info::PLAIN };

    fn start(_: Flavour, c: &mut Conn, _now_ns: u64) -> Adapter {
        let packet = u64::from(c.mss);
        Adapter(Controller { window: u64::from(c.cwnd) * packet, threshold: u64::MAX, packet })
    }

    fn cong_avoid(&mut self, c: &mut Conn, acked: u32, _now_ns: u64) {
        if c.cwnd_limited() {
            self.0.on_ack(u64::from(acked) * self.0.packet);
            c.cwnd = (self.0.window / self.0.packet) as u32;
        }
    }

    fn ssthresh(&mut self, _c: &mut Conn, _now_ns: u64) -> u32 {
        self.0.on_congestion_event();
        (self.0.window / self.0.packet) as u32
    }

    fn set_state(&mut self, _c: &mut Conn, new: CaState, _now_ns: u64) {
        if new == CaState::Loss {
            self.0.on_persistent_congestion();
        }
    }
}

const LINE: &str = r#"
    [link]
    rate = "20mbit"
    buffer = "2bdp"

    [[flows]]
    name = "theirs"
    cca = "cubic"
    rtt = "40ms"

    [[flows]]
    name = "mine"
    cca = "newreno"
    rtt = "40ms"

    [queue]
    disciplines = ["droptail", "codel", "pie", "fq-codel"]

    [run]
    stack = "quic"
    duration = "20s"
    warmup = "5s"
"#;

/// A run for each discipline, in which the controller has NewReno's place.
fn runs() -> Vec<RunSpec> {
    let scenario = Scenario::parse(LINE, "the line", Path::new(".")).expect("a scenario");
    let mut runs = scenario.runs().expect("a run for each discipline");
    runs.iter_mut().for_each(|spec| spec.replace_control(Kind::NewReno, Kind::of::<Adapter>()));
    runs
}

#[test]
fn it_fills_the_link_and_leaves_cubic_a_share() {
    for spec in runs() {
        let run = run(&spec, &AtomicBool::new(false), &|_| ()).expect("a result");
        assert!(run.ports[0].utilization > 0.9, "{}", run.discipline);
        let theirs = run.groups.iter().find(|group| group.name == "theirs").expect("the group");
        assert!(theirs.goodput_bps > 4e6, "{}: {} bit/s", run.discipline, theirs.goodput_bps);
    }
}

/// The smallest window of the second flow, packets.
#[derive(Debug)]
struct Smallest(Arc<AtomicU32>);

impl Observer for Smallest {
    fn sender(&mut self, flow: u32, events: &[SenderEvent]) {
        for event in events {
            if let (1, SenderAction::Metrics(now)) = (flow, event.what) {
                self.0.fetch_min(now.window, Ordering::Relaxed);
            }
        }
    }

    fn queue(&mut self, _port: u32, _events: &[QueueEvent]) {}

    fn end(&mut self) -> Result<(), String> {
        Ok(())
    }
}

#[test]
fn its_window_never_closes() {
    for spec in runs() {
        let smallest = Arc::new(AtomicU32::new(u32::MAX));
        let observer = Box::new(Smallest(smallest.clone()));
        run_observed(&spec, &AtomicBool::new(false), &|_| (), observer).expect("a result");
        let smallest = smallest.load(Ordering::Relaxed);
        assert!((2..1000).contains(&smallest), "{smallest}");
    }
}
// Until here.

#[test]
fn the_page_shows_it() {
    let page = include_str!("../../../docs/how-to/in-a-unit-test-of-a-quic-stack.md");
    let (_, shown) = include_str!("of_a_quic_stack.rs").split_once("// From here on.\n").expect("its begin");
    let (shown, _) = shown.split_once("// Until here.\n").expect("its end");
    assert!(page.contains(&format!("\n```rust\n{shown}```\n")), "write this into the page:\n{shown}");
}
