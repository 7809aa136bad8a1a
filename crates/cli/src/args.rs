//! The command line: what can be asked, and the help that says so.

use clap::builder::{OsStringValueParser, TypedValueParser};
use clap::{Args, Parser, Subcommand, ValueEnum};
use queuewright_engine::EngineChoice;
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::path::PathBuf;

/// A device by its name, whatever bytes it has, or by its number (`if:7`).
fn device() -> impl TypedValueParser<Value = String> {
    OsStringValueParser::new().map(|name| queuewright_linux::called(&name))
}

/// Compare queueing disciplines (AQM) on a link, in a simulator that behaves as Linux's TCP does.
#[derive(Debug, Parser)]
#[command(
    name = "queuewright",
    version,
    propagate_version = true,
    disable_help_subcommand = true,
    after_help = "\
Examples:
  queuewright compare --rate 100mbit --rtt 20ms..80ms --flows 10xcubic,4xbbr
  queuewright run examples/home.toml
  queuewright explain titrate

Exit codes: 0 done, 1 a run failed, 2 wrong input, 130 interrupted (what had finished is kept)."
)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Compare disciplines on a link that is described by flags
    Compare(Compare),
    /// Run a scenario file
    Run(Run),
    /// Make the papers' figures and tables again, and judge their claims
    Reproduce(Reproduce),
    /// Run a suite of scenarios, and score disciplines on it
    Suite(Suite),
    /// Say which queue manager a line should have, what to expect and how to put it on
    Advise(Advise),
    /// Run scenarios on the simulator and on a real kernel, and print the gap
    Validate(Validate),
    /// Run packetdrill's scripts on the simulator's TCP, or on a real kernel's
    Packetdrill(Packetdrill),
    /// List disciplines, congestion controls and their parameters
    List(List),
    /// Explain a discipline or a congestion control
    Explain(Explain),
    /// Check a scenario file, or a discipline or congestion control of your own, and say what would run
    Check(Check),
    /// Write a file to begin with: a discipline or congestion control of your own
    New(New),
    /// Say what will work on this machine: kernel, rights, a device
    Doctor(Doctor),
    /// Make a discipline the root qdisc of a device
    Attach(Attach),
    /// Show what attached disciplines have done
    Status(Status),
    /// Show attached disciplines over time, on the terminal or in a browser
    Watch(Watch),
    /// Offer what attached disciplines have done to Prometheus
    Export(Export),
    /// Change an attached discipline
    Set(Set),
    /// Choose the actions of an attached queuepilot, every step, by a policy or a program of yours
    Agent(Agent),
    /// Tell htb the shares of an attached discipline's classes as they change
    Keep(Keep),
    /// Take an attached discipline off, and put back what was there
    Detach(Detach),
    /// Learn a policy (in the Python package)
    #[command(
        disable_help_flag = true,
        after_help = "\
Examples:
  queuewright train --preset paper --steps 200000
  queuewright train queuepilot.toml --out queuewright-trained/mine
  queuewright train queuepilot.toml --out queuewright-trained/mine --resume"
    )]
    Train(Elsewhere),
    /// Run policies beside what they are measured against (in the Python package)
    #[command(
        disable_help_flag = true,
        after_help = "\
Examples:
  queuewright evaluate queuepilot
  queuewright evaluate mine.json --on home.toml --against codel,pie,titrate"
    )]
    Evaluate(Elsewhere),
    /// Make a policy's file of a training (in the Python package)
    #[command(
        disable_help_flag = true,
        after_help = "\
Examples:
  queuewright export-policy queuewright-trained/mine"
    )]
    ExportPolicy(Elsewhere),
    /// Find the parameters that suit scenarios best (in the Python package)
    #[command(
        disable_help_flag = true,
        after_help = "\
Examples:
  queuewright tune home --aqm codel --over target=1ms..100ms,interval=10ms..1s
  queuewright tune mine.toml --held-out other.toml --aqm pie
  queuewright tune --resume"
    )]
    Tune(Elsewhere),
    /// Watch a queue live in the browser
    Explore(Explore),
    /// Open the book of all pages in a browser
    Docs(Docs),
    /// Print a completion script for a shell
    Completions(Completions),
    /// Write man pages into a folder
    #[command(hide = true)]
    Man(Man),
}

/// `compare`
#[derive(Debug, Args)]
#[command(after_help = "\
Units are tc's: 20mbit (not Mbps), 5ms, 1500b, 45kb, 1000p (packets), 2bdp.
A range is drawn per flow: 20ms..80ms. Options follow a colon: 4xbbr:rtt=5ms,
1xcubic:size=10mb, codel:target=10ms:ecn=true, static:threshold=1bdp. The results'
folder holds the same as a scenario file, to run and change with `queuewright run`.

Examples:
  Ten CUBIC and four BBR flows and a 2 Mbit/s stream, four disciplines, three seeds:
    queuewright compare --rate 100mbit --rtt 20ms..80ms --flows 10xcubic,4xbbr,1xcbr:2mbit \\
        --aqm droptail,codel,pie,titrate --buffer 2bdp --duration 60s --warmup 10s --seeds 1..3
  A cellular link, from a file with one delivery opportunity (ms) a line:
    queuewright compare --trace Verizon-LTE-short.down --rtt 40ms --flows 1xcubic --buffer 1000p
  Just the mean delays, for a script:
    queuewright compare --rate 20mbit --rtt 40ms --flows 2xcubic --json |
        jq '.runs[] | {discipline, seed, ms: .ports[0].sojourn_ms.mean}'")]
pub struct Compare {
    /// Rate of the bottleneck, such as 100mbit
    #[arg(long, value_name = "RATE")]
    pub rate: Option<String>,
    /// Follow a file of delivery opportunities instead of a rate
    #[arg(long, value_name = "FILE")]
    pub trace: Option<String>,
    /// Round-trip time of the flows without queues: one value or a range
    #[arg(long, value_name = "TIME")]
    pub rtt: Option<String>,
    /// Flows: COUNTxCONTROL for TCP, COUNTxcbr:RATE and COUNTxpoisson:RATE for UDP
    #[arg(long, value_name = "LIST")]
    pub flows: Option<String>,
    /// Disciplines to compare, or your own files (./late.h) [default: droptail,codel,pie,titrate]
    #[arg(long, value_name = "LIST")]
    pub aqm: Option<String>,
    /// Buffer: bytes (45kb), packets (1000p) or rate times mean RTT (2bdp) [default: 2bdp]
    #[arg(long, value_name = "SIZE")]
    pub buffer: Option<String>,
    /// Length of a run, warm-up included [default: 60s]
    #[arg(long, value_name = "TIME")]
    pub duration: Option<String>,
    /// Time at the start that no measure counts [default: a sixth of the duration]
    #[arg(long, value_name = "TIME")]
    pub warmup: Option<String>,
    /// Seeds, each a run of its own: 1..3, or 1,2,3 [default: 1]
    #[arg(long, value_name = "LIST")]
    pub seeds: Option<String>,
    /// Whose TCP: linux, or ns3 as published ns-3 studies had it; or quic [default: linux]
    #[arg(long, value_name = "STACK")]
    pub stack: Option<String>,
    /// Where results go and how.
    #[command(flatten)]
    pub output: Output,
}

/// `run`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  queuewright run examples/home.toml
  queuewright run examples/home.toml --aqm codel,titrate --seeds 1..10
  queuewright run examples/cellular.toml --trace Verizon-LTE-short.down
  queuewright run examples/home.toml --engine linux --aqm droptail,codel --seeds 1
  queuewright run examples/home.toml --qlog events --aqm codel --duration 10s
  queuewright run examples/home.toml --json > results.json")]
pub struct Run {
    /// Scenario file (docs/scenario.md), or - for standard input
    #[arg(value_name = "FILE")]
    pub scenario: PathBuf,
    /// Disciplines, instead of the file's
    #[arg(long, value_name = "LIST")]
    pub aqm: Option<String>,
    /// Seeds, instead of the file's: 1..3, or 1,2,3
    #[arg(long, value_name = "LIST")]
    pub seeds: Option<String>,
    /// Trace of delivery opportunities, instead of the file's link rate
    #[arg(long, value_name = "FILE")]
    pub trace: Option<String>,
    /// Length of a run, warm-up included, instead of the file's
    #[arg(long, value_name = "TIME")]
    pub duration: Option<String>,
    /// Time at the start that no measure counts, instead of the file's
    #[arg(long, value_name = "TIME")]
    pub warmup: Option<String>,
    /// Log every event of senders and queues in qlog, into this new folder
    #[arg(long, value_name = "DIR", conflicts_with = "without")]
    pub qlog: Option<PathBuf>,
    /// What makes the runs.
    #[command(flatten)]
    pub engine: EngineArgs,
    /// Where results go and how.
    #[command(flatten)]
    pub output: Output,
}

/// What makes the runs.
#[derive(Debug, Default, Args)]
pub struct EngineArgs {
    /// sim: the simulator; linux: a real kernel in a virtual machine (`scripts/setup lab`)
    #[arg(long, value_enum, value_name = "ENGINE", default_value_t)]
    pub engine: EngineName,
    /// With --engine linux: a kernel, instead of the lab's: an unpacked package, or packages (.deb) with image and modules
    #[arg(long, value_name = "DIR|DEB", value_delimiter = ',')]
    pub kernel: Vec<PathBuf>,
    /// With --engine linux: our BPF program also for a discipline that the kernel has itself
    #[arg(long)]
    pub bpf: bool,
    /// With --engine linux: on this machine's own kernel, in network namespaces and real time; as root
    #[arg(long, conflicts_with = "kernel")]
    pub native: bool,
}

impl EngineArgs {
    /// The same, without the command line.
    pub fn asked(&self) -> EngineChoice {
        let linux = self.engine == EngineName::Linux;
        EngineChoice { linux, kernel: self.kernel.clone(), bpf: self.bpf, native: self.native }
    }
}

/// An engine.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum EngineName {
    /// The simulator.
    #[default]
    Sim,
    /// A real kernel.
    Linux,
}

/// Flags that `compare` and `run` share.
#[derive(Debug, Args)]
pub struct Output {
    /// Print the results as one JSON object, and write no folder unless --out is given
    #[arg(long)]
    pub json: bool,
    /// A table of these measures alone, by their paths in docs/results.md: sojourn_ms.p99,group.*.goodput_bps
    #[arg(long, value_name = "LIST", value_delimiter = ',', conflicts_with = "json")]
    pub columns: Vec<String>,
    /// Make every run also without these groups of flows, and say what the others lose beside them (harm)
    #[arg(long, value_name = "GROUPS", value_delimiter = ',')]
    pub without: Vec<String>,
    /// Folder in which each comparison gets a dated folder of its own [default: queuewright-results]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// How many runs there are at a time.
    #[command(flatten)]
    pub jobs: Jobs,
}

/// How many runs there are at a time.
#[derive(Debug, Default, Args)]
pub struct Jobs {
    /// Runs at a time [default: one per core]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    jobs: Option<u16>,
}

impl Jobs {
    /// The number.
    pub fn count(&self) -> usize {
        queuewright_engine::jobs(self.jobs)
    }
}

/// `reproduce`
#[derive(Debug, Args)]
#[command(after_help = "\
Without a name it lists the experiments and about how long each takes here. Each makes
the runs of a figure or table, its data (CSV, Parquet), and the figure (SVG, PNG). Hollow
marks in it are published values. Each claim of the paper gets a verdict.

Examples:
  queuewright reproduce
  queuewright reproduce cp-aqm/fig1
  queuewright reproduce cp-aqm --quick
  queuewright reproduce --all
  queuewright reproduce --resume
  queuewright reproduce ./my-experiments")]
pub struct Reproduce {
    /// Experiment (cp-aqm/fig1), paper (cp-aqm), or folder of your own (docs/experiments/README.md)
    #[arg(value_name = "NAME")]
    pub names: Vec<String>,
    /// Every experiment
    #[arg(long)]
    pub all: bool,
    /// Fewer seeds, shorter runs
    #[arg(long)]
    pub quick: bool,
    /// Run wrong variants in the place of the papers' systems, too: claims that hold for them are weak
    #[arg(long)]
    pub null: bool,
    /// Run what does not hold again with each possible cause (another simulator, their program's rules, values left out), too
    #[arg(long)]
    pub causes: bool,
    /// Go on with the newest folder, which was interrupted
    #[arg(long, conflicts_with_all = ["names", "all", "quick", "runs", "null", "causes"])]
    pub resume: bool,
    /// Runs of each case, each with its own seed, instead of the experiment's number
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub runs: Option<u16>,
    /// Folder in which each call gets a dated folder of its own [default: queuewright-reproduced]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// How many runs there are at a time.
    #[command(flatten)]
    pub jobs: Jobs,
}

/// `suite`
#[derive(Debug, Args)]
#[command(after_help = "\
Without a name it lists the suites and about how long each takes here for one discipline. A suite
is a folder of scenario files; one of your own is one too. The folder of results has a page over
all scenarios (index.md), a scorecard for each discipline (cards/), every measure of every run
(runs.csv) and the scenarios themselves, each of which `queuewright run` takes. In the Python
package `--engine ray` has a Ray cluster make the runs.

Examples:
  queuewright suite
  queuewright suite rfc7928 --aqm codel,fq-codel,titrate
  queuewright suite home --quick
  queuewright suite rfc9743 --cca bbr --aqm droptail,fq-codel
  queuewright suite ./my-scenarios --runs 10
  queuewright suite --resume")]
pub struct Suite {
    /// Suite (rfc7928), or folder of scenario files
    #[arg(value_name = "NAME")]
    pub name: Option<String>,
    /// Disciplines, or all [default: the suite's; tail drop is always among them]
    #[arg(long, value_name = "LIST")]
    pub aqm: Option<String>,
    /// Congestion control of the flow groups named `new`, of suites that test one: harm.md says what the others lose by it
    #[arg(long, value_name = "NAME")]
    pub cca: Option<String>,
    /// One run of each scenario
    #[arg(long, conflicts_with = "runs")]
    pub quick: bool,
    /// Runs of each scenario, each with its own seed [default: 3]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub runs: Option<u16>,
    /// Go on with the newest folder, which was interrupted
    #[arg(long, conflicts_with_all = ["name", "aqm", "cca", "quick", "runs"])]
    pub resume: bool,
    /// What makes the runs.
    #[command(flatten)]
    pub engine: EngineArgs,
    /// Print the ranking as JSON
    #[arg(long)]
    pub json: bool,
    /// Folder in which each call gets a dated folder of its own [default: queuewright-suites]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// How many runs there are at a time.
    #[command(flatten)]
    pub jobs: Jobs,
}

/// `advise`
#[derive(Debug, Args)]
#[command(after_help = "\
Households on the line are drawn at random: their round-trip times, how much is downloaded and
uploaded beside calls, games, video and pages, and by which congestion controls. Every discipline is
tried on four of them, the better half on four more, and the best four on sixteen others or more. Of
those that are less than 0.02 of the score behind the best, and not shown to be worse, the simplest to
have is advised: what is there now, then what tc has, then ours. Sixteen other households check the
advice. Of a scenario its seeds are what is drawn, and its first discipline is what is there now. Every
run is kept in the folder of results: after Ctrl-C --resume goes on.

Examples:
  queuewright advise --rate 100mbit/20mbit --access cable
  queuewright advise --rate 20mbit/5mbit --access dsl --for calls,games --tc
  queuewright advise --rate 500mbit --rtt 5ms..40ms --access fibre --dev eth1 --kernel 6.12
  queuewright advise my-link.toml
  queuewright advise --resume")]
pub struct Advise {
    /// What is asked.
    #[command(flatten)]
    pub question: Question,
    /// Go on with the newest folder, which was interrupted
    #[arg(long, conflicts_with_all = ["file", "rate", "rtt", "access", "uses", "aqm", "tc", "kernel", "check", "dev"])]
    pub resume: bool,
    /// Print the advice as JSON
    #[arg(long)]
    pub json: bool,
    /// Folder in which each call gets a dated folder of its own [default: queuewright-advice]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// How many runs there are at a time.
    #[command(flatten)]
    pub jobs: Jobs,
}

/// What `advise` is asked, which the folder of results remembers.
#[derive(Debug, Clone, Args, Serialize, Deserialize)]
pub struct Question {
    /// A scenario to advise on, instead of a household's line
    #[arg(value_name = "SCENARIO", conflicts_with_all = ["rate", "rtt", "access", "uses"])]
    pub file: Option<PathBuf>,
    /// Rate of the line: to you, and from you if that is another
    #[arg(long, value_name = "DOWN[/UP]")]
    pub rate: Option<String>,
    /// Round-trip times of what you talk to, without queues
    #[arg(long, value_name = "TIME[..TIME]", default_value = "15ms..80ms")]
    pub rtt: String,
    /// Kind of line: cable, dsl or fibre
    #[arg(long, value_name = "KIND", default_value = "fibre")]
    pub access: String,
    /// What you want of it: calls, games, video, web, downloads, uploads [default: all]
    #[arg(long = "for", value_name = "LIST")]
    pub uses: Option<String>,
    /// Disciplines to choose from [default: all]
    #[arg(long, value_name = "LIST")]
    pub aqm: Option<String>,
    /// Of those that tc has without anything of ours
    #[arg(long)]
    pub tc: bool,
    /// Of those that a device with this Linux can run: its version, such as 6.12, or `here` for this machine's
    #[arg(long, value_name = "VERSION")]
    pub kernel: Option<String>,
    /// Sets of sixteen other households, or seeds, with which the advice is checked; with more than one, beside all disciplines
    #[arg(long, value_name = "N", default_value = "1", value_parser = clap::value_parser!(u8).range(..=100))]
    pub check: u8,
    /// Device, in the commands that are printed
    #[arg(long, value_name = "DEV", default_value = "eth0", value_parser = device())]
    pub dev: String,
}

/// `validate`
#[derive(Debug, Args)]
#[command(after_help = "\
Without files it runs the shipped rows: congestion controls alone and mixed, at several rates
and round-trip times, through the kernel's own disciplines, and through ours as BPF programs.
--random draws scenarios over all that both engines can do. Draw 5 of a seed is the same however
many there are. The simulator has ten seeds of each row, Linux those of --seeds [default: 1, of a
draw 1..2, of a file its own]. A file whose seeds decide more than when flows start has its own on
both. Each row is printed as soon as it is measured. --measured takes what --json has printed, also
if it was stopped.

--replay compares TCP alone: in the lab a connection of the kernel's sends over a drawn path, and
the simulator's sender gets the very same acknowledgements at the same times. Before each of them
they are compared: windows, what is in flight, SACKed, lost and sent again, the state, the pacing
rate, and which segments were sent. A draw is the same if none of them ever differs. It is the same
but for rounding if none would, had the host been late or early at a few moments by 20 us at most.
--out keeps each as a file, which is compared again without the lab. With --receive the kernel
receives: what comes to it comes to the simulator's receiver, and every acknowledgement is compared.

Examples:
  queuewright validate
  queuewright validate --only fq-codel --seeds 1..3 --json >measured.json
  queuewright validate --only fq-codel --measured measured.json
  queuewright validate my-scenario.toml --json
  queuewright validate --costs
  A hundred drawn scenarios, kept as files and with what both engines did. Then the simulator
  alone again beside what Linux did; one of them; and half of them, for another machine:
    queuewright validate --random 100 --seed 7 --out drawn
    queuewright validate --random 100 --seed 7 --measured drawn/results.json
    queuewright validate drawn/draw-7-12.toml
    queuewright validate --random 100 --seed 7 --shard 1/2 --out first-half
  A hundred connections of 8 s, acknowledgement by acknowledgement; two of them again:
    queuewright validate --replay 100 --seed 7 --out replays
    queuewright validate replays/7-3.replay replays/7-12.replay")]
#[command(group = clap::ArgGroup::new("drawn").args(["random", "replay"]))]
pub struct Validate {
    /// Scenario files instead of the shipped rows, or what --replay --out has kept (.replay)
    #[arg(value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// So many drawn scenarios instead of the shipped rows
    #[arg(long, value_name = "N", conflicts_with = "files", value_parser = clap::value_parser!(u64).range(1..=100_000))]
    pub random: Option<u64>,
    /// So many drawn connections, acknowledgement by acknowledgement
    #[arg(long, value_name = "N", conflicts_with_all = ["files", "shard", "only", "seeds", "measured", "ns3", "bpf", "costs"],
        value_parser = clap::value_parser!(u64).range(1..=100_000))]
    pub replay: Option<u64>,
    /// With --replay: the kernel receives, and the acknowledgements of the simulator's receiver are compared
    #[arg(long, requires = "replay")]
    pub receive: bool,
    /// With --replay: how long each is
    #[arg(long, value_name = "N", requires = "replay", default_value = "8", value_parser = clap::value_parser!(u64).range(1..=60))]
    pub seconds: u64,
    /// With --random and --replay: what decides the draws
    #[arg(long, value_name = "S", requires = "drawn", default_value = "1")]
    pub seed: u64,
    /// Every M-th row, from the K-th on: 1/3, 2/3 and 3/3 are all of them
    #[arg(long, value_name = "K/M", value_parser = shard)]
    pub shard: Option<(usize, usize)>,
    /// Only the rows whose name contains this
    #[arg(long, value_name = "TEXT")]
    pub only: Option<String>,
    /// Seeds on Linux (of files whose seeds decide more than when flows start, on both): 1..3, or 1,2,3
    #[arg(long, value_name = "LIST")]
    pub seeds: Option<String>,
    /// What --json has printed before: rows of it are not run on Linux, or in ns-3, again
    #[arg(long, value_name = "JSON", value_delimiter = ',', visible_alias = "resume")]
    pub measured: Vec<PathBuf>,
    /// A new folder for the drawn scenarios' files (or the replays'), and for what --json prints (results.json)
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// ns-3 as well, on the rows that it has: the program of scripts/peers/ns3-row.cc
    /// (scripts/validate-ns3 builds it)
    #[arg(long, value_name = "PROGRAM")]
    pub ns3: Option<PathBuf>,
    /// A kernel, instead of the lab's: an unpacked package, or packages (.deb) with image and modules
    #[arg(long, value_name = "DIR|DEB", value_delimiter = ',')]
    pub kernel: Vec<PathBuf>,
    /// With files: our BPF program also for a discipline that the kernel has itself
    #[arg(long, requires = "files")]
    pub bpf: bool,
    /// Instead of rows: what disciplines of the kernel and ours cost, in instructions a packet
    #[arg(long, conflicts_with_all = ["files", "random", "shard", "only", "seeds", "jobs", "measured", "out", "ns3"])]
    pub costs: bool,
    /// Instead of whole runs: send what comes to each row's queue in the simulator through the
    /// kernel's own discipline, which it must leave as it leaves ours, packet by packet
    #[arg(long, conflicts_with_all = ["measured", "out", "ns3", "bpf", "costs"])]
    pub queues: bool,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
    /// How many runs there are at a time.
    #[command(flatten)]
    pub jobs: Jobs,
}

/// `packetdrill`
#[derive(Debug, Args)]
#[command(after_help = "\
Each script gets a line: passed; failed, with what it expects and what came; or not applicable.
That names all that it asks for and the simulated TCP does not have (docs/fidelity.md). Then how
many there are of each. What scripts set with command lines (sysctls, ../common/defaults.sh) is
read, and none of it is run.

With --engine linux the scripts are run on the TCP of a real kernel, in a virtual machine and in
virtual time (`scripts/setup lab`). The checks are the same, and not applicable is what the guest's
program does not do. What scripts set is set in the virtual machine.

Exit codes: 0 none failed, 1 a script failed, 2 a script cannot be read.

Examples:
  queuewright packetdrill my-script.pkt
  queuewright packetdrill packetdrill/gtests/net/tcp linux/tools/testing/selftests/net/packetdrill
  queuewright packetdrill my-script.pkt --cca bbr
  queuewright packetdrill my-script.pkt --engine linux
  queuewright packetdrill scripts --json | jq '.scripts[] | select(.verdict == \"failed\")'")]
pub struct Packetdrill {
    /// Scripts, or folders: all *.pkt below them
    #[arg(value_name = "FILE|DIR", required = true)]
    pub paths: Vec<PathBuf>,
    /// sim: the simulator; linux: a real kernel in a virtual machine (`scripts/setup lab`)
    #[arg(long, value_enum, value_name = "ENGINE", default_value_t)]
    pub engine: EngineName,
    /// With --engine linux: a kernel, instead of the lab's: an unpacked package, or packages (.deb) with image and modules
    #[arg(long, value_name = "DIR|DEB", value_delimiter = ',')]
    pub kernel: Vec<PathBuf>,
    /// A congestion control, whatever scripts set: cubic, reno, bbr, dctcp (`queuewright list`)
    #[arg(long, value_name = "NAME")]
    pub cca: Option<String>,
    /// Ticks a second of the simulated kernel's clock, which timers count in (CONFIG_HZ): 100, 250, 300, 1000 [default: 250]
    #[arg(long, value_name = "N", value_parser = ticks)]
    pub hz: Option<u32>,
    /// How far off times may be, whatever scripts say [default: 4000]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(i64).range(1..=1_000_000_000))]
    pub tolerance_usecs: Option<i64>,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
}

/// One of the rates that Linux's clock can have.
fn ticks(text: &str) -> Result<u32, String> {
    match text {
        "100" => Ok(100),
        "250" => Ok(250),
        "300" => Ok(300),
        "1000" => Ok(1000),
        _ => Err("Linux has 100, 250, 300 or 1000".into()),
    }
}

/// `2/3`: the second of three parts.
fn shard(text: &str) -> Result<(usize, usize), String> {
    let part = text.split_once('/').and_then(|(k, m)| Some((k.parse().ok()?, m.parse().ok()?)));
    part.filter(|(k, m)| (1..=*m).contains(k))
        .ok_or_else(|| "not a part; write its number and how many there are, such as 1/3".into())
}

/// `list`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  queuewright list
  queuewright list --json | jq -r '.disciplines[].name'")]
pub struct List {
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
}

/// `explain`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  queuewright explain titrate
  queuewright explain cubic")]
pub struct Explain {
    /// Name of a discipline or a congestion control (see `queuewright list`)
    pub name: String,
}

/// `check`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  queuewright check examples/home.toml && echo it would run
  queuewright check ./late.h
  queuewright check ./mine.h")]
pub struct Check {
    /// Scenario file (docs/scenario.md), or - for standard input; or a discipline or congestion control of your own (docs/own.md,
    /// docs/own-control.md), which is tried with random packets or acknowledgements
    #[arg(value_name = "FILE")]
    pub scenario: PathBuf,
}

/// `new`
#[derive(Debug, Args)]
#[command(after_help = "\
The file can be used as it is: it is a small discipline, or a congestion control. No file is overwritten.

Examples:
  queuewright new discipline late
  queuewright check ./late.h
  queuewright compare --rate 50mbit --rtt 20ms --flows 4xcubic --aqm codel,./late.h
  queuewright new control mine
  queuewright compare --rate 50mbit --rtt 20ms --flows 2xcubic,2x./mine.h --aqm codel")]
pub struct New {
    /// What to write
    #[arg(value_enum)]
    pub what: Kind,
    /// Its name, and the file's: NAME.h
    pub name: String,
}

/// What `new` writes.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum Kind {
    Discipline,
    Control,
}

/// `doctor`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  queuewright doctor
  queuewright doctor eth0
  queuewright doctor --repair")]
pub struct Doctor {
    /// Device to look at too
    #[arg(value_name = "DEV", value_parser = device())]
    pub dev: Option<String>,
    /// Say what killed commands, lost filters and namespaces that are gone have left, and mend it
    #[arg(long, conflicts_with = "dev")]
    pub repair: bool,
    /// With --repair: without asking
    #[arg(long, requires = "repair")]
    pub yes: bool,
}

/// `attach`
#[derive(Debug, Args)]
#[command(after_help = "\
Every parameter of the discipline is an option too (`queuewright explain titrate`
lists them). Without --rate the device sets the pace; with it, set it a little below the
link's own rate, so that packets wait here.

Examples:
  sudo queuewright attach eth0 titrate --rate 95mbit
  sudo queuewright attach eth0 titrate --rate 19mbit --ingress 95mbit
  sudo queuewright attach eth0 cp-aqm --police 95mbit --ingress
  sudo queuewright attach eth0 codel --rate 20mbit --target 10ms --ecn
  sudo queuewright attach eth0 cp-aqm:rate=10mbit --limit 1000p
  sudo queuewright attach eth0 ./late.h:target=5ms --rate 95mbit
  queuewright attach eth0 pie --dry-run")]
pub struct Attach {
    /// Device, such as eth0
    #[arg(value_name = "DEV", value_parser = device())]
    pub dev: String,
    /// Discipline, with parameters if you like: titrate, codel:target=10ms; or a file of your own, ./late.h (docs/own.md)
    #[arg(value_name = "NAME")]
    pub discipline: String,
    /// Send no faster than this, such as 95mbit
    #[arg(long, value_name = "RATE")]
    pub rate: Option<String>,
    /// Manage what comes in, too, at this rate: 480mbit, or 480mbit:codel for another discipline
    #[arg(long, value_name = "RATE[:NAME]", num_args = 0..=1, default_missing_value = "")]
    pub ingress: Option<String>,
    /// Let no packet wait: drop or mark what is above this rate; with --ingress alone, of what comes in
    #[arg(long, value_name = "RATE", conflicts_with_all = ["rate", "mq", "front"])]
    pub police: Option<String>,
    /// What may wait: packets (1000p) or bytes (100kb) [default: 10000p]
    #[arg(long, value_name = "SIZE")]
    pub limit: Option<String>,
    /// Bytes that the link adds to each packet
    #[arg(long, value_name = "BYTES", allow_hyphen_values = true)]
    pub overhead: Option<String>,
    /// One for each transmit queue of the device, below mq; a rate they share
    #[arg(long)]
    pub mq: bool,
    /// In front of htb, as on kernels without BPF qdiscs; needs --rate
    #[arg(long)]
    pub front: bool,
    /// Leave packets whole that segmentation offload puts together; else they are split where 64 KiB take more than 1 ms
    #[arg(long)]
    pub no_split_gso: bool,
    /// Print what would be done, and do nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Of a file of your own: write what it is compiled to, and do nothing else; this can be attached without a compiler
    #[arg(long, value_name = "FILE.bpf.o", conflicts_with = "dry_run")]
    pub compile: Option<PathBuf>,
    /// The discipline's parameters.
    #[command(flatten)]
    pub settings: Settings,
}

/// Parameters of a discipline, names and values as given.
#[derive(Debug, Default)]
pub struct Settings(pub Vec<(String, String)>);

/// `status`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  sudo queuewright status
  sudo queuewright status eth0 --json | jq '.[0].stats.sojourn_ns'")]
pub struct Status {
    /// Device [default: all]
    #[arg(value_name = "DEV", value_parser = device())]
    pub dev: Option<String>,
    /// Print one JSON array
    #[arg(long)]
    pub json: bool,
}

/// `watch`
#[derive(Debug, Args)]
#[command(after_help = "\
Rate, sojourn time, drops, marks and the discipline's own variables. q quits.
--web prints an address with a token in it, for a browser of this machine.

Examples:
  sudo queuewright watch
  sudo queuewright watch eth0 --every 200ms
  sudo queuewright watch --web --port 8080")]
pub struct Watch {
    /// Device [default: all]
    #[arg(value_name = "DEV", value_parser = device())]
    pub dev: Option<String>,
    /// How often to look, 10ms to 3600s
    #[arg(long, value_name = "TIME", default_value = "1s")]
    pub every: String,
    /// Show it in the explorer's page, in a browser of this machine
    #[arg(long)]
    pub web: bool,
    /// Port to serve the page at; 0: any that is free
    #[arg(long, default_value_t = 0, requires = "web")]
    pub port: u16,
    /// Let the page change what is attached, as `queuewright set` does
    #[arg(long, requires = "web")]
    pub allow_set: bool,
}

/// `export`
#[derive(Debug, Args)]
#[command(after_help = "\
OpenMetrics at /metrics: the names of node_exporter's qdisc collector, and
queuewright_* for sojourn times, drops and marks by reason, and the
discipline's variables. dist/grafana.json is a dashboard of them.

Examples:
  sudo queuewright export
  curl -s http://127.0.0.1:9421/metrics")]
pub struct Export {
    /// Address and port to listen at
    #[arg(long, value_name = "ADDR:PORT", default_value = "127.0.0.1:9421")]
    pub listen: String,
    /// Answer only who sends the token in this file ("Authorization: Bearer TOKEN")
    #[arg(long, value_name = "FILE")]
    pub token_file: Option<PathBuf>,
}

/// `set`
#[derive(Debug, Args)]
#[command(after_help = "\
rate, limit and overhead change while packets flow. So do the discipline's own
parameters; its state begins anew for those that it takes only at its start.

Examples:
  sudo queuewright set eth0 rate=50mbit
  sudo queuewright set eth0 target=10ms interval=200ms")]
pub struct Set {
    /// Device
    #[arg(value_name = "DEV", value_parser = device())]
    pub dev: String,
    /// What to change
    #[arg(value_name = "NAME=VALUE", required = true)]
    pub changes: Vec<String>,
}

/// `agent`
#[derive(Debug, Args)]
#[command(after_help = "\
queuepilot attached without weights leaves its choice to this program. At the end of each of
its steps (5ms unless attached with another) it is told what the step showed, and its action
holds from then on. Until then, and when it ends, threshold and action are those attached.
Ctrl-C ends it; it prints how many steps there were, missed, and what one took.

A COMMAND reads a line a step, {\"step\":7,\"observation\":[six],\"action\":3,\"reward\":0.9}. It
answers each with a line, its action, 0 to 5, within 1 s (the first, of step 0, within 60 s).
docs/disciplines/queuepilot.md has an example.

Examples:
  sudo queuewright attach eth0 queuepilot --rate 95mbit --limit 45p
  sudo queuewright agent eth0 queuepilot
  sudo queuewright agent eth0 my-policy.json
  sudo queuewright agent eth0 -- python3 agent.py")]
pub struct Agent {
    /// Device
    #[arg(value_name = "DEV", value_parser = device())]
    pub dev: String,
    /// Learned policy: a name that comes with the program, or a file
    #[arg(value_name = "POLICY", required_unless_present = "command", conflicts_with = "command")]
    pub policy: Option<String>,
    /// A program that chooses, with its arguments
    #[arg(value_name = "COMMAND", last = true)]
    pub command: Vec<OsString>,
}

/// `keep`
#[derive(Debug, Args)]
#[command(after_help = "\
`attach` leaves this running where a discipline's queues are classes of htb. It ends
with what is attached; begin it again should it have been killed.

Examples:
  sudo queuewright keep eth0")]
pub struct Keep {
    /// Device
    #[arg(value_name = "DEV", value_parser = device())]
    pub dev: String,
}

/// `detach`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  sudo queuewright detach eth0")]
pub struct Detach {
    /// Device
    #[arg(value_name = "DEV", value_parser = device())]
    pub dev: String,
}

/// `docs`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  queuewright docs
  lynx $(queuewright docs --print)")]
pub struct Docs {
    /// Only print where the book is
    #[arg(long)]
    pub print: bool,
}

/// `explore`
#[derive(Debug, Args)]
#[command(after_help = "\
The page is served on this machine alone (127.0.0.1), and only read. It sends nothing
anywhere: the simulator runs in the browser. Ctrl-C ends it.

Examples:
  queuewright explore
  queuewright explore examples/home.toml
  queuewright explore --port 8080 --no-open")]
pub struct Explore {
    /// Scenario file to begin with
    pub scenario: Option<PathBuf>,
    /// Port to serve at; 0: any that is free [default: 9422 if it is free, where reports lead to]
    #[arg(long)]
    pub port: Option<u16>,
    /// Do not open a browser
    #[arg(long)]
    pub no_open: bool,
}

/// `completions`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  queuewright completions bash > ~/.local/share/bash-completion/completions/queuewright
  queuewright completions zsh > ~/.zfunc/_queuewright
  queuewright completions fish > ~/.config/fish/completions/queuewright.fish")]
pub struct Completions {
    /// Shell
    pub shell: clap_complete::Shell,
}

/// What the Python package does.
#[derive(Debug, Args)]
pub struct Elsewhere {
    /// What it takes there: see docs/training.md and docs/tune.md
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    pub args: Vec<OsString>,
}

/// `man`
#[derive(Debug, Args)]
pub struct Man {
    /// Folder, made if it is not there
    #[arg(value_name = "DIR")]
    pub dir: PathBuf,
}
