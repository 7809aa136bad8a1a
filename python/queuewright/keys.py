"""The tables of a scenario file, and the command's flags, as types for checkers, editors and `help`.

Made of crates/scenario/src/keys.rs and flags.rs, by:

    UPDATE_SCHEMA=1 cargo test -p queuewright-scenario --test keys
"""

import os
from collections.abc import Iterable, Mapping
from datetime import timedelta
from typing import Any, Literal, TypedDict


class Jitter(TypedDict, total=False):
    """`jitter`.

    Attributes:
        uniform: time, to 10s: each packet arrives by a uniform time up to this later
        normal: time, to 10s: standard deviation of a normal distribution around `delay`
        overtaking: `true`, `false` (without it: `false`): each packet has its own time, and may overtake
            others
    """

    uniform: str | timedelta
    normal: str | timedelta
    overtaking: bool


class Reorder(TypedDict, total=False):
    """`reorder`.

    Attributes:
        share: share: `"0.1%"` or `0.001` (needed): how many packets
        by: time, 1ns to 10s (needed): how much later they come
    """

    share: float | str
    by: str | timedelta


class Link(TypedDict, total=False):
    """`[link]`.

    Attributes:
        rate: rate, 1kbit to 1000gbit: exactly one of `rate`, `schedule` and `trace`
        schedule: list of `["time", "rate"]`: the rate from each time on; the first time is `"0s"`, times
            rise, `"0bit"` is an outage, the last rate stays unless there is a `period`. Not with --engine
            linux: its link has one rate
        period: time, 1us to 1000000s (without it: none): with `schedule`, after its last step: it begins anew
            each time that so much has passed. `schedule = [["0s", "8mbit"], ["100ms", "12mbit"]]` with
            `period = "200ms"` alternates each 100 ms. Not with --engine linux: its link has one rate
        trace: path: from the folder of the file; see [Traces](#traces). Not with --engine linux: its link has
            one rate
        burst: size, to 1gb (without it: none: a wire): with `rate`: the link is a [rate
            limiter](#rate-limiters) with a token bucket of this size, as Linux's htb. With --engine linux not
            all of it: a BPF qdisc's own shaper has no bucket
        shaper: `"htb"`, `"tbf"` (without it: `"htb"`): with `burst`, the qdisc of Linux by whose rule packets
            leave ([rate limiters](#rate-limiters)). With --engine linux not all of it: there the wait for
            credit is part of the sojourn, and the packet that waits of the backlog
        police: `true`, `false` (without it: `false`): no packet waits: the link is a [policer](#policers),
            and the queue that its discipline sees is only counted. Not with --engine linux: its packets wait
        late_marks: `true`, `false` (without it: `false`; on Linux as the qdisc does it): a mark is set on the
            flow's next packet that comes, instead of the one that the discipline names ([late
            marks](#late-marks)). With --engine linux not all of it: the kernel's own qdiscs, and with the
            kernel module ours, mark the packet itself; without it ours mark the flow's next
        delay: time, to 30s (without it: `"0s"`): propagation delay from the bottleneck to the receivers
        loss: share: `"0.1%"` or `0.001` (without it: none): this share of the packets, less than all, is lost
            on the link, each by itself; they have taken their time on it. Not with --engine linux: its link
            loses and delays nothing
        jitter: time, to 10s, or table (without it: none): see [Links that are not
            perfect](#links-that-are-not-perfect). Not with --engine linux: its link loses and delays nothing
        reorder: `{ share = "1%", by = "5ms" }` (without it: none): this share of the packets arrives so much
            later than it would, and others overtake it. Not with --engine linux: its link loses and delays
            nothing
        buffer: size, packets or bdp, to 1024gb, 100000000p, 100000bdp (without it: `"2bdp"`): what may wait,
            the packet in transmission not counted; at least one full packet
        overhead: size, to 1000b (without it: `"14b"`; `"2b"` with `stack = "ns3"`): what the link counts for
            a packet beyond its IP length: Ethernet's header as Linux counts it, PPP's as ns-3 does. With
            --engine linux not all of it: it counts Ethernet's 14 bytes
    """

    rate: float | str
    schedule: Iterable[Iterable[str | timedelta | float]]
    period: str | timedelta
    trace: str | os.PathLike[str]
    burst: str
    shaper: Literal["htb", "tbf"]
    police: bool
    late_marks: bool
    delay: str | timedelta
    loss: float | str
    jitter: str | timedelta | Jitter
    reorder: Reorder
    buffer: str
    overhead: str


class Ports(TypedDict, total=False):
    """`[[ports]]`.

    Attributes:
        name: text, 1 to 64 characters (needed): what results and flows call it
        rate: rate, 1kbit to 1000gbit: exactly one of `rate`, `schedule` and `trace`
        schedule: list of `["time", "rate"]`: the rate from each time on; the first time is `"0s"`, times
            rise, `"0bit"` is an outage, the last rate stays unless there is a `period`. Not with --engine
            linux: its link has one rate
        period: time, 1us to 1000000s (without it: none): with `schedule`, after its last step: it begins anew
            each time that so much has passed. `schedule = [["0s", "8mbit"], ["100ms", "12mbit"]]` with
            `period = "200ms"` alternates each 100 ms. Not with --engine linux: its link has one rate
        trace: path: from the folder of the file; see [Traces](#traces). Not with --engine linux: its link has
            one rate
        burst: size, to 1gb (without it: none: a wire): with `rate`: the link is a [rate
            limiter](#rate-limiters) with a token bucket of this size, as Linux's htb. With --engine linux not
            all of it: a BPF qdisc's own shaper has no bucket
        shaper: `"htb"`, `"tbf"` (without it: `"htb"`): with `burst`, the qdisc of Linux by whose rule packets
            leave ([rate limiters](#rate-limiters)). With --engine linux not all of it: there the wait for
            credit is part of the sojourn, and the packet that waits of the backlog
        police: `true`, `false` (without it: `false`): no packet waits: the link is a [policer](#policers),
            and the queue that its discipline sees is only counted. Not with --engine linux: its packets wait
        late_marks: `true`, `false` (without it: `false`; on Linux as the qdisc does it): a mark is set on the
            flow's next packet that comes, instead of the one that the discipline names ([late
            marks](#late-marks)). With --engine linux not all of it: the kernel's own qdiscs, and with the
            kernel module ours, mark the packet itself; without it ours mark the flow's next
        delay: time, to 30s (without it: `"0s"`): propagation delay from the bottleneck to the receivers
        loss: share: `"0.1%"` or `0.001` (without it: none): this share of the packets, less than all, is lost
            on the link, each by itself; they have taken their time on it. Not with --engine linux: its link
            loses and delays nothing
        jitter: time, to 10s, or table (without it: none): see [Links that are not
            perfect](#links-that-are-not-perfect). Not with --engine linux: its link loses and delays nothing
        reorder: `{ share = "1%", by = "5ms" }` (without it: none): this share of the packets arrives so much
            later than it would, and others overtake it. Not with --engine linux: its link loses and delays
            nothing
        buffer: size, packets or bdp, to 1024gb, 100000000p, 100000bdp (without it: `"2bdp"`): what may wait,
            the packet in transmission not counted; at least one full packet
        discipline: name or table (without it: those that are compared): its own discipline, whatever is
            compared. Not with --engine linux: its one port has the disciplines that are compared
    """

    name: str
    rate: float | str
    schedule: Iterable[Iterable[str | timedelta | float]]
    period: str | timedelta
    trace: str | os.PathLike[str]
    burst: str
    shaper: Literal["htb", "tbf"]
    police: bool
    late_marks: bool
    delay: str | timedelta
    loss: float | str
    jitter: str | timedelta | Jitter
    reorder: Reorder
    buffer: str
    discipline: str | Mapping[str, Any]


class Shared(TypedDict, total=False):
    """`[shared]`.

    Attributes:
        buffer: size, packets or bdp, to 1024gb, 100000000p, 100000bdp (needed): in bytes or bdp: one buffer
            for all ports that have none of their own. Not with --engine linux: its buffer is the bottleneck's
            own
    """

    buffer: str


class Exponential(TypedDict, total=False):
    """`exponential`.

    Attributes:
        exponential: time, 1us to 1000000s (needed): the mean of times that are exponentially distributed
    """

    exponential: str | timedelta


class Lognormal(TypedDict, total=False):
    """`size`.

    Attributes:
        distribution: `"lognormal"` (needed): which
        median: size, 1b to 4096gb (needed): the middle size
        sigma: number, 0.001 to 100 (needed): standard deviation of the sizes' logarithm
        max: size, 1b to 4096gb (without it: `"4096gb"`): what is larger counts as this
    """

    distribution: Literal["lognormal"]
    median: str
    sigma: float
    max: str


class Pareto(TypedDict, total=False):
    """`size`.

    Attributes:
        distribution: `"pareto"` (needed): which
        min: size, 1b to 4096gb (needed): the smallest size
        shape: number, 0.001 to 100 (needed): the exponent of the tail
        max: size, 1b to 4096gb (without it: `"4096gb"`): what is larger counts as this
    """

    distribution: Literal["pareto"]
    min: str
    shape: float
    max: str


class Sizes(TypedDict, total=False):
    """`size`.

    Attributes:
        file: path (needed): sizes to draw from, or a packet capture
    """

    file: str | os.PathLike[str]


class Pages(TypedDict, total=False):
    """`pages`.

    Attributes:
        file: path (without it: the generator): pages: `trace,flow,packets` in each line, a line for each
            flow, full packets (1500 bytes, 1448 of them payload)
        traces: list of numbers (without it: all of the file): which pages, in which order
        pick: `"turn"`, `"random"` (without it: `"turn"`): how a page is picked from those
        at: list of times (without it: as they arrive): when pages are loaded, before the run ends; times do
            not fall
    """

    file: str | os.PathLike[str]
    traces: Iterable[int | str]
    pick: Literal["turn", "random"]
    at: str | timedelta | Iterable[str | timedelta]


class Video(TypedDict, total=False):
    """`video`.

    Attributes:
        ladder: 1 to 100 rates that rise (without it: ten from 254.32kbit to 14.931538mbit, those of Big Buck
            Bunny at 30 frames a second in dash.js' sample): the bitrates to choose from
        chunk: time, 100ms to 60s (without it: `"4s"`): playing time of a chunk
        buffer: time, 100ms to 3600s (without it: `"30s"`, or a chunk if that is longer): playing time that
            the player keeps ahead at most; at least a chunk
    """

    ladder: Iterable[float | str]
    chunk: str | timedelta
    buffer: str | timedelta


class Probes(TypedDict, total=False):
    """`probes`.

    Attributes:
        profiles: path (without it: those that are always there): TOML file of more [applications](#probes)
            whose Quality of Outcome is to be known
    """

    profiles: str | os.PathLike[str]


class Flows(TypedDict, total=False):
    """`[[flows]]`.

    Attributes:
        name: text, 1 to 64 characters (without it: the congestion control's name, or the key of its UDP
            traffic): name of the group in results
        count: whole number, range, 1 to 100000 (without it: `1`): number of flows, drawn once a seed
        cca: `"newreno"`, `"cubic"`, `"bbr"`, `"vegas"`, `"veno"`, `"yeah"`, `"illinois"`, `"htcp"`, `"bic"`,
            `"scalable"`, `"dctcp"`, `"ledbat"`, `"brutal"`, `"bbr3"`, `"prague"`, `"westwood"`,
            `"ledbat-pp"`, `"copa"`, `"mix"`, or a table of weights: TCP with this congestion control
            (`queuewright list` says what each is; `bbr` is version 1), or with a file of your own, such as
            `"./mine.h"` ([how](own-control.md)). With --engine linux not all of it: Linux has no such
            congestion control
        cbr: rate, range, 1kbit to 1000gbit: UDP at a constant rate of IP packets
        poisson: rate, range, 1kbit to 1000gbit: UDP with exponential gaps, this rate on average
        voip: `"g711"`, `"g729"`: [calls](#calls). Not with --engine linux: calls
        rtt: time, range, 1us to 60s (without it: needed for TCP; UDP: twice `link.delay`): round-trip time
            without queues and serialisation, at least twice the delay of the links it crosses
        start: time, range, to 1000000s (without it: `"0s"`): first packet; before the run ends
        stop: time, range, to 1000000s (without it: never): the application writes no more (what is in the
            send buffer is still sent); after `start`
        duration: time, range, 1ns to 1000000s, or `{ exponential = "2s" }` (without it: until `stop`): UDP:
            how long each flow lasts, if `stop` does not end it before
        access: rate, range, 1kbit to 1000gbit (without it: unlimited): rate of each flow's own access link.
            Not with --engine linux: access links have no limit
        jitter: time, range, to 10s (without it: `"0s"`): each packet is delayed by a uniform time up to this
            on the access link, without overtaking. Not with --engine linux: access links do not delay
        size: size, range, 1b to 4096gb, or a [distribution](#sizes) (without it: without end): TCP: bytes to
            transfer; the flow then ends
        initial_window: `"1p"` to `"65535p"`, or `"all"` (without it: `"10p"`): TCP: packets that may be sent
            before the first acknowledgement, 45 at most; all: as many as the flow has
            ([windows](#windows-and-buffers))
        wmem: size, 16kb to 1gb (without it: `"4mb"`): TCP of Linux: most bytes of a flow's send buffer
            (`tcp_wmem[2]`), which bounds what is in flight ([buffers](#windows-and-buffers))
        notsent_lowat: size, 1b to 1gb (without it: none): TCP of Linux: the application writes while less
            than this waits to be sent, and is woken when less than half of it does (`TCP_NOTSENT_LOWAT`)
        repeat: time, range, to 1000000s, or `{ exponential = "2s" }` (without it: none): TCP with `size`: a
            flow that has ended is [followed by another](#flows-that-come-and-go) after this pause. Not with
            --engine linux: flows that come and go
        arrivals: `"50/s"`, `"40%"` or `"20mbit"` (without it: none): TCP with `size` or `pages`, UDP with
            `duration`: flows [arrive](#flows-that-come-and-go) at random. Not with --engine linux: flows that
            come and go
        file: path (without it: none): TCP: a flow for [each line](#flows-from-a-file) of a table
        pages: table (without it: none): TCP: [web pages](#web-pages), flows that start together. Not with
            --engine linux: flows that come and go
        requests: time, range, to 1000000s, or `{ exponential = "2s" }` (without it: none): TCP with `size`: a
            client [asks](#clients-that-ask) for one response after another on one connection, after this
            pause. Not with --engine linux: clients that ask
        video: table, `{}` for its defaults (without it: none): TCP: a client [plays a
            video](#clients-that-ask). Not with --engine linux: clients that ask
        probes: `true`, `false`, or table (without it: `false`): TCP: [probes](#probes) measure how the
            network answers while these flows load it. Not with --engine linux: it sends no probes
        ecn: `true`, `false`, or `"l4s"` (without it: `false`): TCP: ECN is negotiated; with `"l4s"` packets
            say ECT(1), as those of senders do that yield in proportion to marks (RFC 9331), and
            [AccECN](#accurate-ecn) counts marks. `dctcp` does so in any case, and its receivers echo each
            segment's mark. With --engine linux not all of it: on Linux only prague says ECT(1), and it does
            so without "l4s"
        stack: `"linux"`, `"ns3"`, `"quic"` (without it: that of `[run]`): TCP or [QUIC](quic.md), of this
            entry's flows alone: `"quic"` beside flows with Linux's TCP. With --engine linux not all of it:
            its transport is Linux's TCP
        rate: rate, range, 1kbit to 1000gbit (without it: needed for `brutal`): `brutal` only: the rate it
            sends at. Not with --engine linux: Linux has no such congestion control
        ports: names of `[[ports]]`, in order (without it: the only port): what the flows cross; needed where
            there are several ports
        reverse_ports: names of `[[ports]]`, in order (without it: none): TCP: what its
            [acknowledgements](#the-reverse-path) cross. Not with --engine linux: acknowledgements meet no
            queue
        dscp: `"cs0"`, `"le"`, `"cs1"`, `"af11"`, `"af12"`, `"af13"`, `"cs2"`, `"af21"`, `"af22"`, `"af23"`,
            `"cs3"`, `"af31"`, `"af32"`, `"af33"`, `"cs4"`, `"af41"`, `"af42"`, `"af43"`, `"cs5"`, `"va"`,
            `"ef"`, `"cs6"`, `"cs7"`, or whole number, 0 to 63 (without it: `"cs0"`): codepoint of the packets
            (RFC 2474), by its [name](#hosts-and-dscp) or as a number, and of acknowledgements; `cake` reads
            it
        source: whole number, range, 1 to 65535 (without it: one for each flow): numbers of the
            [hosts](#hosts-and-dscp) that packets come from, dealt to the flows in turn; `cake` reads them.
            With --engine linux not all of it: flows of one source have the same `rtt`, `ecn`,
            `initial_window` and buffers
        destination: whole number, range, 1 to 65535 (without it: one for each flow): of those that they go
            to, likewise
        packet: size, 29b to 1500b (without it: `"1500b"`): UDP: IP length of each packet. With --engine linux
            not all of it: its datagrams carry a stamp: at least 44b
    """

    name: str
    count: int | str
    cca: str | Mapping[str, int]
    cbr: float | str
    poisson: float | str
    voip: Literal["g711", "g729"]
    rtt: str | timedelta
    start: str | timedelta
    stop: str | timedelta
    duration: str | timedelta | Exponential
    access: float | str
    jitter: str | timedelta
    size: str | Lognormal | Pareto | Sizes
    initial_window: str
    wmem: str
    notsent_lowat: str
    repeat: str | timedelta | Exponential
    arrivals: str
    file: str | os.PathLike[str]
    pages: Pages
    requests: str | timedelta | Exponential
    video: Video
    probes: bool | Probes
    ecn: bool | Literal["l4s"]
    stack: Literal["linux", "ns3", "quic"]
    rate: float | str
    ports: str | Iterable[str]
    reverse_ports: str | Iterable[str]
    dscp: (
        Literal[
            "cs0",
            "le",
            "cs1",
            "af11",
            "af12",
            "af13",
            "cs2",
            "af21",
            "af22",
            "af23",
            "cs3",
            "af31",
            "af32",
            "af33",
            "cs4",
            "af41",
            "af42",
            "af43",
            "cs5",
            "va",
            "ef",
            "cs6",
            "cs7",
        ]
        | int
        | str
    )
    source: int | str
    destination: int | str
    packet: str


class Queue(TypedDict, total=False):
    """`[queue]`.

    Attributes:
        disciplines: list of names or tables (needed): at least one
    """

    disciplines: Iterable[str | Mapping[str, Any]]


class Run(TypedDict, total=False):
    """`[run]`.

    Attributes:
        duration: time, 1ns to 1000000s (needed): length of a run, the warm-up included
        warmup: time, to 1000000s (without it: a sixth of the duration, in whole milliseconds): cut off the
            front of every measure; shorter than the duration; `"0s"` counts all
        seeds: whole numbers: `[1, 2, 3]`, `"1..3"` or `7`, each 0 to 2^53 - 1 (without it: `[1]`): one run
            for each discipline and seed
        stack: `"linux"`, `"ns3"`, `"quic"` (without it: `"linux"`): TCP as Linux does it, or with the
            [choices](#run-the-runs-to-make) of the Titrate artifact's ns-3; or [QUIC](quic.md). With --engine
            linux not all of it: its transport is Linux's TCP
        sample: time, 1us to 1000000s (without it: `"10ms"`, or a millionth of the duration if that is
            longer): interval of the time series. With --engine linux not all of it: samples take its one
            processor's time; at least 10ms lie between
        series_flows: whole number, 0 to 1000 (without it: `1`): the first so many flows of each group have
            cwnd and goodput in the time series
    """

    duration: str | timedelta
    warmup: str | timedelta
    seeds: int | str | Iterable[int | str]
    stack: Literal["linux", "ns3", "quic"]
    sample: str | timedelta
    series_flows: int | str


class Tables(TypedDict, total=False):
    """The top of a scenario file.

    Attributes:
        name: text, 1 to 64 characters (without it: none): for titles; changes no result
        description: text, to 10000 bytes (without it: none): for titles; changes no result
        link: table: the bottleneck; this, or `[[ports]]`
        ports: tables: several output ports. With --engine linux not all of it: it has one bottleneck
        shared: table (without it: none): a buffer that ports share. Not with --engine linux: its buffer is
            the bottleneck's own
        flows: tables (needed): traffic
        queue: table (needed): disciplines to compare
        run: table (needed): the runs to make
    """

    name: str
    description: str
    link: Link | Mapping[str, Any]
    ports: Iterable[Ports | Mapping[str, Any]]
    shared: Shared | Mapping[str, Any]
    flows: Iterable[Flows | Mapping[str, Any]]
    queue: Queue | Mapping[str, Any]
    run: Run | Mapping[str, Any]


class Changes(TypedDict, total=False):
    """The flags of `queuewright compare` and `run`, without their dashes.

    Attributes:
        rate: Rate of the link (`link.rate`)
        trace: A file of delivery opportunities instead of a rate, from the working folder (`link.trace`)
        delay: Delay from the bottleneck to the receivers (`link.delay`)
        buffer: Bytes, packets or bandwidth-delay products (`link.buffer`)
        duration: Length of a run, warm-up included (`run.duration`)
        warmup: Time at the start that no measure counts (`run.warmup`)
        stack: Whose TCP (`run.stack`)
        sample: Interval of the time series (`run.sample`)
        seeds: One run for each: `1..3`, `1,2,5` (`run.seeds`)
        flows: What is sent: `[COUNTx]KIND[:OPTION...],...` (`flows`)
        rtt: Round-trip time of every flow that does not say its own (`flows.rtt`)
    """

    rate: float | str
    trace: str | os.PathLike[str]
    delay: str | timedelta
    buffer: str
    duration: str | timedelta
    warmup: str | timedelta
    stack: Literal["linux", "ns3", "quic"]
    sample: str | timedelta
    seeds: int | str | Iterable[int | str]
    flows: str | Iterable[str]
    rtt: str | timedelta


class Flags(Changes, total=False):
    """Those, and the disciplines.

    Attributes:
        aqm: Disciplines: `NAME[:PARAMETER=VALUE...],...` (`queue.disciplines`)
    """

    aqm: str | Mapping[str, Any] | Iterable[str | Mapping[str, Any]]
