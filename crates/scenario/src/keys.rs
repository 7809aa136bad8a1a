//! The keys of a scenario file, each declared once: how its value is written, its bounds, its default, what it means and whether
//! `--engine linux` can do it. The reader takes bounds and defaults from here; the lists in its errors, the tables of
//! `docs/scenario.md`, `docs/scenario.schema.json`, `python/queuewright/keys.py` and the lab's refusals are made of it.

use crate::datagrams::Datagrams;
use crate::form::{MAX_RATE, RATES, key};
use crate::stack::Stack;
use crate::units::{MILLION, Unit};
use Form::*;
use Without::{Is, Needed, Says};

pub use crate::form::{Form, Key, Keys, Linux, Without};

/// Nanoseconds in a second.
const S: u64 = 1_000_000_000;
/// Longest run, ns: beyond it 2^53 ns would no longer be exact in JSON.
const MAX_TIME: u64 = 1_000_000 * S;
/// Longest base RTT, ns: Linux keeps eight times the RTT in 32 bits of microseconds.
const MAX_RTT: u64 = 60 * S;
/// Longest jitter or reordering, ns.
const MAX_EXTRA: u64 = 10 * S;
/// Largest finite transfer, bytes: the largest whole power of two below 2^32 segments.
pub(crate) const MAX_SIZE: u64 = 1 << 42;
/// Most flows in a scenario.
pub(crate) const MAX_FLOWS: u64 = crate::limits::FLOWS.items.0;

const fn time(min: u64, max: u64) -> Form {
    Quantity { unit: Unit::Time, min, max, range: false }
}

const fn times(min: u64, max: u64) -> Form {
    Quantity { unit: Unit::Time, min, max, range: true }
}

const fn size(min: u64, max: u64) -> Form {
    Quantity { unit: Unit::Bytes, min, max, range: false }
}

/// Of a link that works.
pub(crate) const RATE: Form = Quantity { unit: Unit::Rate, min: 1000, max: MAX_RATE, range: false };
const PAUSE: Form = Or(&[times(0, MAX_TIME), Table(&EXPONENTIAL)]);
const VARIATION: Form = Or(&[time(0, MAX_EXTRA), Table(&JITTER)]);
/// A step of a schedule: from when on, and the rate, of which `0bit` is an outage.
pub(crate) const STEP: (Form, Form) =
    (time(0, MAX_TIME), Quantity { unit: Unit::Rate, min: 0, max: MAX_RATE, range: false });
/// When a page is loaded.
pub(crate) const AT: Form = time(0, MAX_TIME);
/// Of a congestion control in a table of them.
pub(crate) const WEIGHT: Form = Whole { min: 0, max: MILLION, range: false };
/// The largest is the largest whole number that every JSON reader keeps.
pub(crate) const SEED: Form = Whole { min: 0, max: (1 << 53) - 1, range: true };
const FROM_TITLES: &str = "for titles; changes no result";

/// The top of a file.
pub static TOP: Keys = Keys {
    name: "",
    class: "Tables",
    words: "",
    parts: &[&[
        key("name", Name, Says("none"), FROM_TITLES),
        key("description", Text, Says("none"), FROM_TITLES),
        key("link", Table(&LINK), Says(""), "the bottleneck; this, or `[[ports]]`"),
        key("ports", List(&Table(&PORTS), "tables"), Says(""), "several output ports")
            .partly("it has one bottleneck"),
        key("shared", Table(&SHARED), Says("none"), "a buffer that ports share")
            .never("its buffer is the bottleneck's own"),
        key("flows", List(&Table(&FLOWS), "tables"), Needed("one or more tables [[flows]]"), "traffic"),
        key(
            "queue",
            Table(&QUEUE),
            Needed("a table [queue] with disciplines = [\"codel\"]"),
            "disciplines to compare",
        ),
        key("run", Table(&RUN), Needed("a table [run] with duration, warmup and seeds"), "the runs to make"),
    ]],
};

/// `[link]`.
pub static LINK: Keys =
    Keys { name: "[link]", class: "Link", words: "table", parts: &[EVERY_LINK, OVERHEAD] };

/// `[[ports]]`: a link with a name.
pub static PORTS: Keys = Keys {
    name: "[[ports]]",
    class: "Ports",
    words: "table",
    parts: &[
        &[key(
            "name",
            Name,
            Needed("what results call it, such as \"left\""),
            "what results and flows call it",
        )],
        EVERY_LINK,
        &[key(
            "discipline",
            Discipline,
            Says("those that are compared"),
            "its own discipline, whatever is compared",
        )
        .never("its one port has the disciplines that are compared")],
    ],
};

const ONE_RATE: &str = "its link has one rate";
const PERFECT: &str = "its link loses and delays nothing";

const EVERY_LINK: &[Key] = &[
    key("rate", RATE, Says(""), "exactly one of `rate`, `schedule` and `trace`"),
    key(
        "schedule",
        List(&Pair(&STEP.0, &STEP.1), "list of `[\"time\", \"rate\"]`"),
        Says(""),
        "the rate from each time on; the first time is `\"0s\"`, times rise, `\"0bit\"` is an outage, the last rate \
         stays unless there is a `period`",
    )
    .never(ONE_RATE),
    key(
        "period",
        time(1000, MAX_TIME),
        Says("none"),
        "with `schedule`, after its last step: it begins anew each time that so much has passed. `schedule = [[\"0s\", \
         \"8mbit\"], [\"100ms\", \"12mbit\"]]` with `period = \"200ms\"` alternates each 100 ms",
    )
    .never(ONE_RATE),
    key("trace", Path, Says(""), "from the folder of the file; see [Traces](#traces)").never(ONE_RATE),
    key(
        "burst",
        size(0, 1 << 30),
        Says("none: a wire"),
        "with `rate`: the link is a [rate limiter](#rate-limiters) with a token bucket of this size, as Linux's htb",
    )
    .partly("a BPF qdisc's own shaper has no bucket"),
    key(
        "shaper",
        Word(&["htb", "tbf"]),
        Is("htb"),
        "with `burst`, the qdisc of Linux by whose rule packets leave ([rate limiters](#rate-limiters))",
    )
    .partly("there the wait for credit is part of the sojourn, and the packet that waits of the backlog"),
    key(
        "police",
        Bool,
        Is("false"),
        "no packet waits: the link is a [policer](#policers), and the queue that its discipline sees is only counted",
    )
    .never("its packets wait"),
    key(
        "late_marks",
        Bool,
        Says("`false`; on Linux as the qdisc does it"),
        "a mark is set on the flow's next packet that comes, instead of the one that the discipline names \
         ([late marks](#late-marks))",
    )
    .partly(
        "the kernel's own qdiscs, and with the kernel module ours, mark the packet itself; without it ours mark the flow's next",
    ),
    key(
        "delay",
        time(0, MAX_RTT / 2),
        Is("0s"),
        "propagation delay from the bottleneck to the receivers",
    ),
    key(
        "loss",
        Share,
        Says("none"),
        "this share of the packets, less than all, is lost on the link, each by itself; they have taken their time on it",
    )
    .never(PERFECT),
    key(
        "jitter",
        VARIATION,
        Says("none"),
        "see [Links that are not perfect](#links-that-are-not-perfect)",
    )
    .never(PERFECT),
    key(
        "reorder",
        Table(&REORDER),
        Says("none"),
        "this share of the packets arrives so much later than it would, and others overtake it",
    )
    .never(PERFECT),
    key(
        "buffer",
        Buffer,
        Says("`\"2bdp\"`"),
        "what may wait, the packet in transmission not counted; at least one full packet",
    ),
];

const OVERHEAD: &[Key] = &[key(
    "overhead",
    size(0, 1000),
    Says("`\"14b\"`; `\"2b\"` with `stack = \"ns3\"`"),
    "what the link counts for a packet beyond its IP length: Ethernet's header as Linux counts it, PPP's as ns-3 does",
)
.partly("it counts Ethernet's 14 bytes")];

/// A link's `jitter`.
pub static JITTER: Keys = Keys {
    name: "jitter",
    class: "Jitter",
    words: "table",
    parts: &[&[
        key(
            "uniform",
            time(0, MAX_EXTRA),
            Says(""),
            "each packet arrives by a uniform time up to this later",
        ),
        key(
            "normal",
            time(0, MAX_EXTRA),
            Says(""),
            "standard deviation of a normal distribution around `delay`",
        ),
        key("overtaking", Bool, Is("false"), "each packet has its own time, and may overtake others"),
    ]],
};

/// A link's `reorder`.
pub static REORDER: Keys = Keys {
    name: "reorder",
    class: "Reorder",
    words: "`{ share = \"1%\", by = \"5ms\" }`",
    parts: &[&[
        key("share", Share, Needed("how many packets, such as \"1%\""), "how many packets"),
        key(
            "by",
            time(1, MAX_EXTRA),
            Needed("how much later they come, such as \"5ms\""),
            "how much later they come",
        ),
    ]],
};

/// `[shared]`.
pub static SHARED: Keys = Keys {
    name: "[shared]",
    class: "Shared",
    words: "table",
    parts: &[&[key(
        "buffer",
        Buffer,
        Needed("what the ports share, such as \"500kb\""),
        "in bytes or bdp: one buffer for all ports that have none of their own",
    )
    .never("its buffer is the bottleneck's own")]],
};

const HOSTS: Form = Whole { min: 1, max: 65_535, range: true };
/// Codepoints and what they stand for (RFC 2474, 2597, 3246, 5865, 8622).
pub(crate) const DSCPS: (&[&str], &[u8]) = (
    &[
        "cs0", "le", "cs1", "af11", "af12", "af13", "cs2", "af21", "af22", "af23", "cs3", "af31", "af32",
        "af33", "cs4", "af41", "af42", "af43", "cs5", "va", "ef", "cs6", "cs7",
    ],
    &[0, 1, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30, 32, 34, 36, 38, 40, 44, 46, 48, 56],
);
/// The name of a codepoint, or its number.
pub fn dscp_name(dscp: u8) -> String {
    let at = DSCPS.1.iter().position(|known| *known == dscp);
    at.map_or(dscp.to_string(), |i| DSCPS.0[i].to_string())
}

const COMING: &str = "flows that come and go";
const ASKING: &str = "clients that ask";

/// `[[flows]]`.
pub static FLOWS: Keys = Keys {
    name: "[[flows]]",
    class: "Flows",
    words: "table",
    parts: &[&[
        key("name", Name, Says("the congestion control's name, or the key of its UDP traffic"), "name of the group in results"),
        key("count", Whole { min: 1, max: MAX_FLOWS, range: true }, Is("1"), "number of flows, drawn once a seed"),
        key(
            "cca",
            Or(&[Control, Weights]),
            Says(""),
            "TCP with this congestion control (`queuewright list` says what each is; `bbr` is version 1), or with a file \
             of your own, such as `\"./mine.h\"` ([how](own-control.md))",
        )
        .partly("Linux has no such congestion control"),
    ], Datagrams::KEYS, &[
        key(
            "rtt",
            times(1000, MAX_RTT),
            Says("needed for TCP; UDP: twice `link.delay`"),
            "round-trip time without queues and serialisation, at least twice the delay of the links it crosses",
        ),
        key("start", times(0, MAX_TIME), Is("0s"), "first packet; before the run ends"),
        key(
            "stop",
            times(0, MAX_TIME),
            Says("never"),
            "the application writes no more (what is in the send buffer is still sent); after `start`",
        ),
        key(
            "duration",
            Or(&[times(1, MAX_TIME), Table(&EXPONENTIAL)]),
            Says("until `stop`"),
            "UDP: how long each flow lasts, if `stop` does not end it before",
        )
        .was(&["length"]),
        key("access", RATES, Says("unlimited"), "rate of each flow's own access link")
            .never("access links have no limit"),
        key(
            "jitter",
            times(0, MAX_EXTRA),
            Is("0s"),
            "each packet is delayed by a uniform time up to this on the access link, without overtaking",
        )
        .never("access links do not delay"),
        key(
            "size",
            Or(&[Quantity { unit: Unit::Bytes, min: 1, max: MAX_SIZE, range: true }, Table(&LOGNORMAL), Table(&PARETO), Table(&SIZES)]),
            Says("without end"),
            "TCP: bytes to transfer; the flow then ends",
        ),
        key(
            "initial_window",
            Window,
            Says("`\"10p\"`"),
            "TCP: packets that may be sent before the first acknowledgement, 45 at most; all: as many as the flow has \
             ([windows](#windows-and-buffers))",
        ),
        key(
            "wmem",
            size(16_384, 1 << 30),
            Says("`\"4mb\"`"),
            "TCP of Linux: most bytes of a flow's send buffer (`tcp_wmem[2]`), which bounds what is in flight \
             ([buffers](#windows-and-buffers))",
        ),
        key(
            "notsent_lowat",
            size(1, 1 << 30),
            Says("none"),
            "TCP of Linux: the application writes while less than this waits to be sent, and is woken when less than \
             half of it does (`TCP_NOTSENT_LOWAT`)",
        ),
        key(
            "repeat",
            PAUSE,
            Says("none"),
            "TCP with `size`: a flow that has ended is [followed by another](#flows-that-come-and-go) after this pause",
        )
        .never(COMING),
        key(
            "arrivals",
            Arrivals,
            Says("none"),
            "TCP with `size` or `pages`, UDP with `duration`: flows [arrive](#flows-that-come-and-go) at random",
        )
        .never(COMING),
        key("file", Path, Says("none"), "TCP: a flow for [each line](#flows-from-a-file) of a table"),
        key("pages", Table(&PAGES), Says("none"), "TCP: [web pages](#web-pages), flows that start together")
            .was(&["burst"])
            .never(COMING),
        key(
            "requests",
            PAUSE,
            Says("none"),
            "TCP with `size`: a client [asks](#clients-that-ask) for one response after another on one connection, \
             after this pause",
        )
        .never(ASKING),
        key("video", Table(&VIDEO), Says("none"), "TCP: a client [plays a video](#clients-that-ask)").never(ASKING),
        key(
            "probes",
            Or(&[Bool, Table(&PROBES)]),
            Is("false"),
            "TCP: [probes](#probes) measure how the network answers while these flows load it",
        )
        .never("it sends no probes"),
        key(
            "ecn",
            Or(&[Bool, Word(&["l4s"])]),
            Is("false"),
            "TCP: ECN is negotiated; with `\"l4s\"` packets say ECT(1), as those of senders do that yield in \
             proportion to marks (RFC 9331), and [AccECN](#accurate-ecn) counts marks. `dctcp` does so in any case, and its receivers echo each segment's mark",
        )
        .partly("on Linux only prague says ECT(1), and it does so without \"l4s\""),
        key(
            "stack",
            Word(&Stack::NAMES),
            Says("that of `[run]`"),
            "TCP or [QUIC](quic.md), of this entry's flows alone: `\"quic\"` beside flows with Linux's TCP",
        )
        .partly("its transport is Linux's TCP"),
        key("rate", RATES, Says("needed for `brutal`"), "`brutal` only: the rate it sends at")
            .never("Linux has no such congestion control"),
        key(
            "ports",
            OneOrMore(&Name, "names of `[[ports]]`, in order"),
            Says("the only port"),
            "what the flows cross; needed where there are several ports",
        ),
        key(
            "reverse_ports",
            OneOrMore(&Name, "names of `[[ports]]`, in order"),
            Says("none"),
            "TCP: what its [acknowledgements](#the-reverse-path) cross",
        )
        .was(&["back"])
        .never("acknowledgements meet no queue"),
        key(
            "dscp",
            Or(&[Word(DSCPS.0), Whole { min: 0, max: 63, range: false }]),
            Is("cs0"),
            "codepoint of the packets (RFC 2474), by its [name](#hosts-and-dscp) or as a number, and of acknowledgements; \
             `cake` reads it",
        ),
        key(
            "source",
            HOSTS,
            Says("one for each flow"),
            "numbers of the [hosts](#hosts-and-dscp) that packets come from, dealt to the flows in turn; `cake` reads them",
        )
        .partly("flows of one source have the same `rtt`, `ecn`, `initial_window` and buffers"),
        key("destination", HOSTS, Says("one for each flow"), "of those that they go to, likewise"),
        // IP and UDP headers, and a byte.
        key("packet", size(29, 1500), Is("1500b"), "UDP: IP length of each packet")
            .partly("its datagrams carry a stamp: at least 44b"),
    ]],
};

/// A time drawn for each flow, not out of a range.
pub static EXPONENTIAL: Keys = Keys {
    name: "exponential",
    class: "Exponential",
    words: "`{ exponential = \"2s\" }`",
    parts: &[&[key(
        "exponential",
        time(1000, MAX_TIME),
        Needed("the mean, such as \"2s\""),
        "the mean of times that are exponentially distributed",
    )]],
};

/// What a distribution of sizes has for its spread or its tail: 0.001 to 100.
const EXPONENT: Form = Real { min: 1000, max: 100_000_000 };
const LARGEST: Key = key("max", size(1, MAX_SIZE), Is("4096gb"), "what is larger counts as this");

/// A `size` whose logarithm is normally distributed.
pub static LOGNORMAL: Keys = Keys {
    name: "size",
    class: "Lognormal",
    words: "a [distribution](#sizes)",
    parts: &[&[
        key("distribution", Word(&["lognormal"]), Needed("\"lognormal\""), "which"),
        key("median", size(1, MAX_SIZE), Needed("the middle size, such as \"10kb\""), "the middle size"),
        key(
            "sigma",
            EXPONENT,
            Needed("the standard deviation of the sizes' logarithm, such as 1.5"),
            "standard deviation of the sizes' logarithm",
        ),
        LARGEST,
    ]],
};

/// A `size` with P(size > x) = (min / x)^shape.
pub static PARETO: Keys = Keys {
    name: "size",
    class: "Pareto",
    words: "",
    parts: &[&[
        key("distribution", Word(&["pareto"]), Needed("\"pareto\""), "which"),
        key("min", size(1, MAX_SIZE), Needed("the smallest size, such as \"1kb\""), "the smallest size"),
        key("shape", EXPONENT, Needed("the exponent of the tail, such as 1.2"), "the exponent of the tail"),
        LARGEST,
    ]],
};

/// Each `size` out of a file.
pub static SIZES: Keys = Keys {
    name: "size",
    class: "Sizes",
    words: "",
    parts: &[&[key("file", Path, Needed("a path"), "sizes to draw from, or a packet capture")]],
};

/// `video`.
pub static VIDEO: Keys = Keys {
    name: "video",
    class: "Video",
    words: "table, `{}` for its defaults",
    parts: &[&[
        key(
            "ladder",
            List(&RATE, "1 to 100 rates that rise"),
            Says(
                "ten from 254.32kbit to 14.931538mbit, those of Big Buck Bunny at 30 frames a second in dash.js' sample",
            ),
            "the bitrates to choose from",
        ),
        key("chunk", time(S / 10, 60 * S), Is("4s"), "playing time of a chunk"),
        key(
            "buffer",
            time(S / 10, 3600 * S),
            Says("`\"30s\"`, or a chunk if that is longer"),
            "playing time that the player keeps ahead at most; at least a chunk",
        ),
    ]],
};

/// `probes`.
pub static PROBES: Keys = Keys {
    name: "probes",
    class: "Probes",
    words: "table",
    parts: &[&[key(
        "profiles",
        Path,
        Says("those that are always there"),
        "TOML file of more [applications](#probes) whose Quality of Outcome is to be known",
    )]],
};

/// `pages`.
pub static PAGES: Keys = Keys {
    name: "pages",
    class: "Pages",
    words: "table",
    parts: &[&[
        key(
            "file",
            Path,
            Says("the generator"),
            "pages: `trace,flow,packets` in each line, a line for each flow, full packets (1500 bytes, 1448 of them payload)",
        ),
        key(
            "traces",
            List(&Whole { min: 0, max: u64::MAX, range: false }, "list of numbers"),
            Says("all of the file"),
            "which pages, in which order",
        ),
        key("pick", Word(&["turn", "random"]), Is("turn"), "how a page is picked from those"),
        key(
            "at",
            OneOrMore(&AT, "list of times"),
            Says("as they arrive"),
            "when pages are loaded, before the run ends; times do not fall",
        ),
    ]],
};

/// `[queue]`.
pub static QUEUE: Keys = Keys {
    name: "[queue]",
    class: "Queue",
    words: "table",
    parts: &[&[key(
        "disciplines",
        List(&Discipline, "list of names or tables"),
        Needed("a list of names, such as [\"codel\"]"),
        "at least one",
    )]],
};

/// `[run]`.
pub static RUN: Keys = Keys {
    name: "[run]",
    class: "Run",
    words: "table",
    parts: &[&[
        key(
            "duration",
            time(1, MAX_TIME),
            Needed("the length of a run, such as \"60s\""),
            "length of a run, the warm-up included",
        ),
        key(
            "warmup",
            time(0, MAX_TIME),
            Says("a sixth of the duration, in whole milliseconds"),
            "cut off the front of every measure; shorter than the duration; `\"0s\"` counts all",
        ),
        key(
            "seeds",
            OneOrMore(
                &SEED,
                "whole numbers: `[1, 2, 3]`, `\"1..3\"` or `7`, each 0 to 2^53 - 1",
            ),
            Says("`[1]`"),
            "one run for each discipline and seed",
        ),
        key(
            "stack",
            Word(&Stack::NAMES),
            Is("linux"),
            "TCP as Linux does it, or with the [choices](#run-the-runs-to-make) of the Titrate artifact's ns-3; or [QUIC](quic.md)",
        )
        .partly("its transport is Linux's TCP"),
        key(
            "sample",
            time(1000, MAX_TIME),
            Says("`\"10ms\"`, or a millionth of the duration if that is longer"),
            "interval of the time series",
        )
        .partly("samples take its one processor's time; at least 10ms lie between"),
        key(
            "series_flows",
            Whole { min: 0, max: 1000, range: false },
            Is("1"),
            "the first so many flows of each group have cwnd and goodput in the time series",
        ),
    ]],
};

/// The tables of a file, from its top.
pub static TABLES: [&Keys; 7] = [&TOP, &LINK, &PORTS, &SHARED, &FLOWS, &QUEUE, &RUN];
