"""Lists, counts and tables on pages that people write, beside the sources that they are of."""

import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ROOT

import queuewright as qw

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

LINUX, LAB, CLI = "crates/linux/src", "crates/lab/src", "crates/cli/src"
NUMBERS = dict(enumerate(["four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"], 4))


def text(path: str) -> str:
    """A file of the sources."""
    return (ROOT / path).read_text()


def flat(path: str) -> str:
    """A page whose paragraphs are lines."""
    return " ".join(text(path).split())


def between(path: str, begin: str, end: str) -> str:
    """What a file has from one text to the next, each of which is there."""
    found = text(path).partition(begin)
    assert found[1], f"{path} has no {begin!r}"
    part = found[2].partition(end)
    assert part[1], f"{path} has no {end!r} behind {begin!r}"
    return part[0]


def codes(part: str) -> list[str]:
    """What is in backticks."""
    return re.findall(r"`([^`\n]+)`", part)


def rows(part: str) -> list[list[str]]:
    """The rows of a table, without its head."""
    lines = re.findall(r"^\|(.*)\|$", part, re.M)
    cells = [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)] for line in lines]
    return [row for i, row in enumerate(cells) if i > 0 and not set(row[0]) <= set("-:")]


def quoted(path: str, begin: str, end: str = "];") -> list[str]:
    """The strings of a list in a program."""
    return re.findall(r'"([^"\n]+)"', between(path, begin, end))


def value(words: str) -> int:
    """A number as a program writes it; a time in ms."""
    if of := re.fullmatch(r"Duration::from_(secs|millis)\((.*)\)", words):
        return value(of[2]) * (1000 if of[1] == "secs" else 1)
    shifted = [int(part.replace("_", "")) for part in words.split(" << ")]
    return shifted[0] << shifted[1] if len(shifted) > 1 else shifted[0]


def constant(path: str, name: str) -> int:
    """The value of a constant; of `NAME.field` that of a field."""
    name, _, field = name.partition(".")
    found = re.search(rf"\b(?:const|static) {name}: [^=]+ = (.*?);\n", text(path), re.S)
    assert found is not None, f"{path} has no {name}"
    if not field:
        return value(found[1])
    of = re.search(rf"\b{field}: (.*?),\n", found[1])
    assert of is not None, f"{path}: {name} has no {field}"
    return value(of[1])


def members(name: str) -> set[str]:
    """The disciplines of a list in aqm/all.h."""
    found = re.search(rf"#define {name}\(X\)((?:.*\\\n)*.*\n)", text("aqm/all.h"))
    assert found is not None
    return {one.replace("_", "-") for one in re.findall(r"X\((\w+),", found[1])}


def says(page: str, *phrases: str) -> None:
    """A page has all of these, whatever its lines."""
    whole = flat(page)
    assert [phrase for phrase in phrases if phrase not in whole] == []


def test_a_number_is_read_as_the_program_writes_it() -> None:
    assert [value(one) for one in ("100_000", "64 << 10", "Duration::from_secs(2)")] == [100_000, 65536, 2000]


def test_security_says_the_limits_that_there_are() -> None:
    namespaces, trust = f"{LINUX}/namespaces.rs", f"{LINUX}/trust.rs"
    look, device, grace = (
        constant(namespaces, name) // 1000 for name in ("PATIENCE", "PATIENCE_FOR_A_DEVICE", "GRACE")
    )
    mounts, pins = constant(namespaces, "MOST_MOUNTS") >> 20, constant(namespaces, "MOST_PINS")
    export, page = f"{LINUX}/export.rs", f"{CLI}/explore.rs"
    asked, served = constant(export, "LIMITS.request_within"), constant(page, "LIMITS.request_within")
    many = constant(page, "LIMITS.connections")
    ends = constant("crates/scenario/src/draft.rs", "PIPE_ENDS_WITHIN")
    file = re.search(r"pub const TOML.*?bytes: (\d+) \* MB", text("crates/scenario/src/limits.rs"), re.S)
    assert file is not None
    says(
        "docs/security.md",
        f"Each may take {constant(f'{LINUX}/system.rs', 'MOST_SECONDS')} s of a processor's time",
        f"{asked // 1000} s to come, {constant(export, 'LIMITS.request') >> 10} KiB, "
        f"{constant(export, 'LIMITS.connections')} connections",
        f"{served // 1000} s to come, {constant(page, 'LIMITS.request') >> 10} KiB, "
        f"{constant(f'{CLI}/live.rs', 'CHANGE') >> 10} KiB of changes, {many} connections",
        f"{served // 1000} s to come, {constant(page, 'LIMITS.request') >> 10} KiB, {many} connections",
        f"There are {many} at a time that have shown the token, and {many} that have not",
        f"{file[1]} MiB at most, and {ends // 1000} s to end",
        f"from {constant(trust, 'PEOPLE')} on, is the owner's own",
        f"{8 * constant(f'{CLI}/live.rs', 'TOKEN')} random bits",
        f"holds about {2 * constant(f'{LINUX}/http.rs', 'HELD') >> 10} KiB",
        f"{mounts} MiB of lists of mounts, {pins // 1000} {pins % 1000:03} pins, or {look} s",
        f"after {look} s and {grace} more all is unknown",
        f"takes {look} s at most, and that for a moved device {device} s",
        f"given up {grace} s later",
        f"wait for up to {look + device + 2 * grace} s",
    )
    assert constant(f"{CLI}/live.rs", "TOLD_FOR") == 3_600_000
    says("docs/security.md", "A connection lasts an hour at most")


def test_the_page_of_linux_says_what_the_program_does() -> None:
    export, record, job = f"{LINUX}/export.rs", f"{LINUX}/record.rs", f"{LAB}/job.rs"
    assert constant(record, "SAID_AFTER") == 1000
    assert constant(record, "GIVEN_UP_AFTER") == 300_000
    (steps,) = re.findall(r"#define QW_QUEUEPILOT_CATCH_UP (\d+)u", text("aqm/queuepilot.h"))
    hosts = re.findall(r"Host::(\w+) => \((\d+), (\d+)\)", text(f"{LINUX}/hosts.rs"))
    first = {host: f"{major}.{minor}" for host, major, minor in hosts}
    says(
        "docs/linux.md",
        f"A request has {constant(export, 'LIMITS.request_within') // 1000} s to come, "
        f"an answer {constant(export, 'LIMITS.done_within') // 1000} s to be taken. "
        f"Of more than {constant(export, 'LIMITS.connections')} connections",
        "After a second, a command that waits says for which process, and with which command. "
        "It gives up after five minutes.",
        f"Linux {first['Qdisc']} or newer with BPF qdiscs",
        f"It needs Linux {first['Front']} or newer with BTF, htb",
        f"{constant(f'{LINUX}/port.rs', 'LEAST_RATE') // 1000} kbit/s or more",
        f"up to {steps} of them",
        f"{steps} steps after the last packet",
        f"{1000 // constant(f'{LINUX}/shares.rs', 'EVERY')} times a second".replace("4 times", "four times"),
        f"the bucket holds {constant(job, 'LEAST_WIRE_BURST')} bytes",
        f"{constant(job, 'LATE_NS') // 1000} us of the rate",
        f"{constant(job, 'HOSTS_NS') // 1000} us of it are what the virtual hosts take",
        f"starts by up to {constant(job, 'START_SHIFT_NS') // 10**6} ms".replace("starts", "flow's start"),
        f"samples {constant(job, 'LEAST_SAMPLE_NS') // 10**6} ms or more apart",
    )
    says(
        "docs/how-to/on-openwrt.md",
        f"{first['Qdisc']} or newer with `CONFIG",
        f"{first['Front']} or newer with BTF",
    )


def test_pages_name_the_kernels_on_which_the_module_was_tried() -> None:
    tried = [row[0] for row in rows(between("docs/log/2026-11-module.md", "| kernel", "\n\n"))]
    assert len(between("scripts/module-matrix", "kernels=${KERNELS:-", "}").split()) == len(tried)
    plain = {found for one in tried if "checked" not in one for found in re.findall(r"^\d+\.\d+", one)}
    *first, last = sorted(plain, key=lambda version: [int(part) for part in version.split(".")])
    (checked,) = (".".join(one.split(".")[:2]) for one in tried if "checked" in one)
    says(
        "docs/linux.md",
        f"each of {NUMBERS[len(tried)]} kernels: {', '.join([*first, last])}, and a {checked} that looks",
    )
    says("docs/how-to/below-htb-classes.md", f"passed its own tests on Linux {', '.join(first)} and {last} ")
    says("docs/how-to/on-openwrt.md", f"tested on {first[0]} to {last} ")


def test_the_table_of_kernels_is_what_the_program_says_that_it_needs() -> None:
    needed, *tried = rows(between("docs/linux.md", "| Linux | `attach` |", "\n\n"))
    hosts = re.findall(r"Host::(\w+) => \((\d+), (\d+)\)", text(f"{LINUX}/hosts.rs"))
    since = {host: (int(major), int(minor)) for host, major, minor in hosts}
    qdisc, front, police = (".".join(map(str, since[host])) for host in ("Qdisc", "Front", "Police"))
    assert needed == ["needed", f"{qdisc}, or {front} in front of htb", front, police, police]
    assert len(tried) == len(between("scripts/attach-matrix", "kernels=${KERNELS:-", "}").split())
    says("Makefile", f"on {NUMBERS[len(tried)]} kernels: the table in docs/linux.md")
    for version, plain, *others in tried:
        kernel = tuple(int(part) for part in version.split("."))
        works = ["works" if kernel >= since[host] else "refused" for host in ("Front", "Police", "Police")]
        assert others == works, version
        in_front = "in front of htb" if kernel >= since["Front"] else "refused"
        # A distribution may leave it out.
        assert plain == in_front or (plain == "BPF qdisc" and kernel >= since["Qdisc"]), version


def test_kinds_of_qdiscs_that_detach_puts_back_are_those_that_there_are() -> None:
    arms = between(f"{LINUX}/before.rs", "match root.kind.as_str() {", "_ => Err")
    known = {
        kind for line in re.findall(r'^ +("[^=]*) =>', arms, re.M) for kind in re.findall('"(.*?)"', line)
    }
    said = between("docs/linux.md", "and all others but\n", ";\n- of these")
    assert set(codes(said)) == known
    tried = {one.split()[0] for one in quoted("crates/linux/tests/abuse.rs", "let kinds = [")}
    says("docs/linux.md", f"{len(tried)} kinds of root qdiscs")


def test_the_front_lacks_the_disciplines_that_the_page_names() -> None:
    others = members("QW_SCHEDULERS") - members("QW_BY_CLASSES")
    assert set(codes(between("docs/linux.md", "The others (", ")"))) == others
    assert set(codes(between("docs/linux.md", "Why not the other schedulers?**", "\n\n"))) == others
    assert members("QW_TAKES_BACK") == {"choke"}
    says("docs/linux.md", "all but CHOKe, which takes back packets")
    assert members("QW_ACTS_AT_HEAD") - members("QW_TAKES_BACK") == {"codel", "cobalt"}
    says("docs/linux.md", "**CoDel and COBALT act on the packet at the head**")


def test_status_and_metrics_have_the_names_that_the_page_has() -> None:
    page = between("docs/linux.md", "### What status --json says", "### By tc")
    named = {code for row in rows(page) for code in codes(row[0] + row[1])}
    fields = between(f"{LINUX}/status.rs", "pub struct Status {", "\n}")
    assert set(re.findall(r"^    pub (\w+):", fields, re.M)) <= named
    page = between("docs/linux.md", "### Graphs: Prometheus and Grafana", "```yaml")
    listed = {code for row in rows(page) for code in codes(row[0])}
    listed |= {"node_qdisc" + name for name in listed if name.startswith("_")}
    made = between(f"{LINUX}/export.rs", "impl Collector for Qdiscs", "/// What is offered")
    names = set(re.findall(r'"((?:node_qdisc|queuewright)_\w+)"', made))
    assert len(names) > 15
    lost = [n for n in names if not any(re.fullmatch(f"{n}(_total|_seconds)?", known) for known in listed)]
    assert [name for name in lost if not name.startswith("queuewright_queue_")] == []


def test_the_lab_has_the_disciplines_that_the_page_names() -> None:
    known = set(quoted(f"{LAB}/qdisc.rs", "pub(crate) const KNOWN: [&str; 12] =\n"))
    assert len(known) == 12
    said = between("docs/linux.md", "- the disciplines that Linux has itself: ", ";\n")
    assert {*codes(said)} - {"pfifo", "bfifo", 'idle_clock = "never"'} == known
    buffers = rows(between("docs/linux.md", "### What a buffer is", "\n`bfifo` and"))
    kinds = {code.replace("_", "-") for row in buffers for code in codes(row[0])}
    assert kinds == known - {"droptail"} | {"pfifo", "bfifo"}
    # Limits of their own, where the page says how much they are.
    compared = 0
    for row in buffers:
        for name, said in re.findall(r"`(\w+)` \(([^)]+)\)", row[-1]):
            (kind,) = codes(row[0])
            assert same(said, registered(kind.replace("_", "-"))[name]), (kind, name)
            compared += 1
    assert compared > 5
    # What `run` has of DualPI2 is ours.
    shown = re.sub(
        r'"dualpi2" => vec.*?\],',
        "",
        between(f"{LAB}/stats.rs", "let probes = match", "\n    };"),
        flags=re.S,
    )
    variables = set(re.findall(r'\("(\w+)", ', shown))
    assert len(variables) > 10
    said = between("docs/linux.md", "- **A controller's variables**", "Of ours they have all")
    assert set(codes(said)) == variables


def registered(discipline: str) -> dict[str, str]:
    """The parameters of a discipline with their defaults, as the registry has them."""
    (of,) = (one for one in qw.disciplines() if one["name"] == discipline)
    return {param["name"]: str(param["default"]) for param in of["parameters"]}


def amount(said: str) -> float | str:
    """A value of a parameter, as pages and as the registry write it."""
    said = said.replace("`", "").replace(",", "").strip()
    found = re.match(r"(-?[\d.]+(?:e-?\d+)?)(?:/(\d+))? ?([^\s)]*)", said)
    if found is None:
        return {"on": "true", "false": "off"}.get(said, said.partition(" ")[0])
    units = {
        "ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1, "min": 60, "kb": 1e3, "mb": 1e6,
        "kbit": 1e3, "kbit/s": 1e3, "mbit": 1e6, "mbit/s": 1e6, "gbit": 1e9, "gbit/s": 1e9,
    }  # fmt: skip
    return float(found[1]) / float(found[2] or 1) * units.get(found[3].lower(), 1)


def same(said: str, default: str) -> bool:
    one, other = amount(said), amount(default)
    if isinstance(one, float) and isinstance(other, float):
        return one == pytest.approx(other, rel=1e-9)
    return one == other


def test_values_are_read_as_pages_and_as_the_registry_write_them() -> None:
    assert same("15 ms", "15ms")
    assert same("1/256", "0.00390625")
    assert same("10,240 packets", "10240p")
    assert same("off", "false")
    assert not same("15 ms", "15s")
    assert not same("`auto`", "off")


@pytest.mark.parametrize("name", [one["name"] for one in qw.disciplines()])
def test_defaults_on_a_discipline_s_page_are_those_of_the_registry(name: str) -> None:
    there = registered(name)
    if not there:
        return
    listed: list[str] = []
    page = between(f"docs/disciplines/{name}.md", "\n## Parameters\n", "\n## ").partition("\nVariables over")[
        0
    ]
    for names, said, *_ in rows(page):
        here = codes(names)
        # Some are another discipline's, one value may be for several, and one is said in words.
        other = re.match(r"as (?:in )?[\[`]([\w-]+)[\]`]", said)
        of = registered(other[1].lower()) if other else {}
        values = said.removesuffix(" each").split(", ")
        values = values * len(here) if len(values) == 1 else values
        for key, one in zip(here, values if not other else here, strict=True):
            if said != "the link's":
                assert same(of.get(key, one), there[key]), (key, one)
            listed.append(key)
    assert [key for key in there if key not in listed] == []


def test_the_page_of_own_disciplines_has_what_the_program_takes() -> None:
    page = "docs/own.md"
    kinds = re.findall(r"QW_[A-Z]+", between("crates/aqm/src/own/describe.rs", "is no kind; write ", '"'))
    listed = rows(between(page, "Kinds of parameters", "### Functions"))
    assert [codes(row[0])[0] for row in listed] == kinds
    reasons = set(re.findall(r"#define (QW_REASON_[A-Z]+) ", text("aqm/qw.h"))) - {"QW_REASON_NONE"}
    assert {code for code in codes(text(page)) if code.startswith("QW_REASON")} == reasons
    taken = quoted(f"{LINUX}/own.rs", "const TAKEN: [&str; 4] = ")
    assert codes(between(page, "Call no\nparameter ", ":"))[: len(taken)] == taken
    compile_rs = "crates/own/src/compile.rs"
    for page in ("docs/own.md", "docs/own-control.md"):
        says(
            page,
            f"{constant(compile_rs, 'SEQUENCES') // 1000},000 sequences",
            f"as many as fit in {constant(compile_rs, 'CHECK_S')} s",
            "ended after a minute",
        )
    assert constant(compile_rs, "CHECK_WITHIN") == 60_000
    says("docs/own.md", f"More than {constant('crates/own/src/lib.rs', 'MAX_BYTES') >> 20} MB, a folder")


def test_the_page_of_own_controls_has_what_the_header_has() -> None:
    page, header = "docs/own-control.md", text("cca/qw_cca.h")
    events = re.findall(r"^ \*   (?:void|qw_u32) qw_X_(\w+)\(", header, re.M)
    assert [codes(row[0])[0] for row in rows(between(page, "### Events", "### Flags"))] == events
    flags = re.findall(r"#define (QW_CCA_(?!H\b|STATE)\w+)", header)
    assert [codes(row[0])[0] for row in rows(between(page, "### Flags", "### The conn"))] == flags
    for struct, begin, end in (
        ("qw_conn", "### The connection", "### The rate sample"),
        ("qw_rate_sample", "### The rate sample", "## Is it right"),
    ):
        fields = re.findall(
            r"^\tqw_\w+ (\w+);", header.partition(f"struct {struct} {{")[2].partition("\n}")[0], re.M
        )
        assert len(fields) > 10
        listed = [code for row in rows(between(page, begin, end)) for code in codes(row[0])]
        assert sorted(listed) == sorted(fields)
    state = re.search(r"#define QW_CCA_STATE (\d+)", header)
    assert state is not None
    least = constant(f"{LINUX}/control.rs", "LEAST_LINUX")
    says(page, f"{state[1]} bytes at most", f"Linux {least // 100}.{least % 100} or newer, which the lab has")


def numbers(path: str, **known: int) -> dict[str, int]:
    """The whole numbers that a program has as constants, each of which may be made of those before it."""
    for name, made in re.findall(r"const (\w+): (?:u32|u64|usize) = ([\w +*-]+);", text(path)):
        known[name] = eval(re.sub(r" as u(32|64)", "", made), {}, dict(known))
    return known


def test_the_page_of_quic_has_the_numbers_that_the_simulator_has() -> None:
    of = numbers("crates/scenario/src/packet.rs", **numbers("crates/aqm/src/params.rs"))
    full, payload = of["FULL_BYTES"], of["QUIC_PAYLOAD_BYTES"]
    parts = dict(rows(between("docs/quic.md", "## Bytes", "\n\nSo at")))
    assert sum(eval(sizes.replace(",", "")) for sizes in parts.values()) == full
    less = 100 * (1 - payload / of["MSS"])
    says(
        "docs/quic.md",
        f"{payload:,} |",
        f"a datagram of {of['QUIC_DATAGRAM_BYTES']:,} bytes",
        f"goodput is {less:.1f} % less than TCP's ({of['MSS']:,} bytes of {full:,})",
        f"a packet of {of['QUIC_ACK_BYTES']} bytes, {of['QUIC_ACK_RANGE_BYTES']} more for each "
        f"further range, {of['QUIC_ACK_ECN_BYTES']} more with ECN",
        f"a datagram of {of['QUIC_INITIAL_BYTES'] - of['QUIC_IP_UDP_BYTES']:,} bytes each way",
    )
    of = numbers("crates/sim/src/quic/receiver.rs", **numbers("crates/sim/src/quic/constants.rs"))
    of = {
        name: number // 10**6 if name.endswith("_NS") and number >= 10**6 else number
        for name, number in of.items()
    }
    (time,) = re.findall(
        r"TIME_THRESHOLD: \(u64, u64\) = \((\d+), (\d+)\)", text("crates/sim/src/quic/constants.rs")
    )
    said = {row[0]: row[1] for row in rows(between("docs/quic.md", "## Constants", "## Bytes"))}
    assert {
        "packet threshold": f"{of['PACKET_THRESHOLD']} packets",
        "time threshold": f"{time[0]}/{time[1]} round-trip times, at least {of['GRANULARITY_NS']} ms",
        "packets of a probe": f"{of['PROBES']}",
        "least window": f"{of['MINIMUM_WINDOW']} packets",
        "persistent congestion": f"{of['PERSISTENT_CONGESTION_THRESHOLD']} probe timeouts",
        "delay of acknowledgements": f"{of['MAX_ACK_DELAY_NS']} ms, "
        f"told in units of {of['DELAY_UNIT_NS'] // 1000} us",
        "round-trip time before the first sample": f"{of['INITIAL_RTT_NS']} ms: the handshake is tried again "
        f"after {3 * of['INITIAL_RTT_NS']} ms",
    }.items() <= said.items()
    says("docs/quic.md", f"names up to {of['MOST_RANGES']} ranges")


def test_the_page_of_suites_has_those_that_there_are() -> None:
    found = {
        folder.name: len([file for file in folder.glob("*.toml") if file.name != "suite.toml"])
        for folder in (ROOT / "suites").iterdir()
    }
    listed = re.findall(
        r"^\| \[([\w]+)\]\(\.\./suites/\w+/README\.md\) \| (\d+) \|", text("docs/suites.md"), re.M
    )
    assert {name: int(count) for name, count in listed} == found
    told = between("docs/suites.md", "## What they say", "Two results")
    for name, many in re.findall(r"^\| \[(\w+)\]\(suites.*? \| (\d+) scenarios", told, re.M):
        assert int(many) == found.pop(name)
    assert found == {}
    keys = re.findall(
        r"^    pub (\w+):", between("crates/suite/src/catalogue.rs", "pub struct About {", "\n}"), re.M
    )
    page = between("docs/suites.md", "A suite says in its `suite.toml`", "In a path of")
    assert {code for row in rows(page) for code in codes(row[0])} == set(keys)


def test_pages_count_what_there_is() -> None:
    stories = [file.read_text() for file in sorted((ROOT / "web/stories").glob("*.md"))]
    assert f"{NUMBERS[len(stories)].capitalize()} stories" in flat("README.md")
    # Titles up to their colons.
    titles = {title for story in stories for title in re.findall(r"^# (.*)", story, re.M)}
    begin = titles | {title.partition(":")[0] for title in titles}
    begin |= {part for title in titles for part in re.findall(r"^\w+ and \w+|^\w+", title)}
    page = text("docs/how-queues-work.md")
    table = [row[-1] for row in rows(page)]
    told = {one for cell in table for one in re.findall(r"\*([^*]+)\*", cell)}
    told |= {one.replace("\n", " ") for one in re.findall(r"\(story: \*([^*]+)\*\)", page)}
    assert len(told) > 8
    assert {" ".join(one.split()) for one in told} - begin == set()
    done = subprocess.run(
        [Path(sys.executable).with_name("queuewright"), "list"], capture_output=True, text=True, check=True
    ).stdout
    controls = done.partition("CONGESTION CONTROLS\n\n")[2].partition("\n\n")[0].splitlines()
    # Three are named before that.
    says("README.md", f"[TCP Prague](docs/controls/prague.md), {len(controls) - 3} others")
    # The weights of the mix.
    (mix,) = re.findall(r"^  mix  (.*) of a hundred", done, re.M)
    says("docs/scenario.md", f'`cca = "mix"` is the table of weights of the Titrate paper: {mix}.')


def test_the_page_of_results_says_what_reports_show() -> None:
    html = "crates/report/src/html"
    limits = "crates/scenario/src/limits.rs"
    answer = {
        name: float(number)
        for name, number in re.findall(r"const (\w+): f64 = ([\d.]+);", text("crates/report/src/answer.rs"))
    }
    assert constant(limits, "SHOWN_SEEDS") == 5
    says(
        "docs/results.md",
        "at most five seeds where it draws curves",
        f"{constant(limits, 'SHOWN_SAMPLES')} points that keep every extreme "
        f"(rates: to {constant(f'{html}/over_time.rs', 'RATE_SAMPLES')} means)",
        f"the first {constant(f'{html}/mod.rs', 'MOST_MEASURES'):,}",
        f"A run logs {constant('crates/report/src/qlog.rs', 'MOST_SENDERS')} senders at most",
        f"alike (within {100 * answer['ALIKE']:.0f} points)",
        f"a loss of {100 * answer['LOSS']:.0f} % or more",
        f"Jain's index below {answer['UNEVEN']}",
        f"| {answer['UNHEARD_MOS']} of MOS |",
        f"a tenth and {1000 * answer['UNNOTICED_PAGE_S']:.0f} ms |",
        f"a tenth and {answer['UNNOTICED_STALL_S']:.0f} s |",
    )
    assert answer["UNNOTICED_SHARE"] == 0.1


def test_the_page_of_the_explorer_says_its_limits() -> None:
    kept = re.search(r"^const KEPT = (\d+);", text("web/src/live.ts"), re.M)
    packets = re.search(r"MOST_PACKETS: f64 = (\d+)e6;", text("crates/web/src/session.rs"))
    assert kept is not None
    assert packets is not None
    memory = constant("crates/web/src/session.rs", "MOST_MEMORY") >> 30
    says(
        "docs/explorer.md",
        f"the last {int(kept[1]):,} looks",
        f"more than {packets[1]} million packets or {memory} GB of memory",
        f"http://127.0.0.1:{constant('crates/report/src/explorer.rs', 'EXPLORER_PORT')}/",
    )


def test_the_page_of_python_has_the_extras_and_environments_that_there_are() -> None:
    project = tomllib.loads(text("pyproject.toml"))["project"]
    extras = project["optional-dependencies"]
    listed = re.findall(r"^\| `pip install '\.\[(\w+)\]'` \| (.*) \|", text("docs/python.md"), re.M)
    # Its own tests' is for nobody else.
    assert {name for name, _ in listed} == set(extras) - {"test"}
    brought = {name: {re.split(r"[>=<;]", one)[0].lower() for one in extras[name]} for name in extras}
    for name, said in listed:
        named = re.findall(r"jupyterlab|matplotlib|polars|pandas|pyarrow|gymnasium|ray", said.lower())
        assert set(named) <= brought[name], name
    least = project["requires-python"].removeprefix(">=")
    says(
        "docs/python.md",
        f"The package needs Python {least} or newer and nothing else.",
        f"for CPython {least} and newer",
    )
    assert project["dependencies"] == []
    made = re.findall(r'"(\w+)"', between("python/queuewright/_register.py", "for name in [", "]"))
    for page in ("docs/python.md", "docs/training.md"):
        assert all(f"{name}-v0`" in text(page) or f'{name}-v0"' in text(page) for name in made), page
    shipped = set(re.findall(r'^    \("([\w-]+)", include_str', text("crates/scenario/src/policy.rs"), re.M))
    table = rows(between("docs/training.md", "## The policies that come", "[policies/]"))
    assert {codes(row[0])[0].strip('"') for row in table} == shipped
    assert shipped == {file.stem for file in (ROOT / "policies").glob("*.json")}


def real(path: str, name: str) -> float:
    """The value of a constant that need not be whole; a product is made out."""
    found = re.search(
        rf"^(?:pub(?:\(crate\))? )?(?:const )?{name}(?:: f64)? = ([\d_.e* -]+);?$", text(path), re.M
    )
    assert found is not None, f"{path} has no {name}"
    return float(eval(found[1]))


def test_the_page_of_advice_has_the_numbers_that_decide() -> None:
    household, command = "crates/suite/src/advise/household.rs", f"{CLI}/advise.rs"
    margin = real("crates/suite/src/advise/scores.rs", "MARGIN")
    shares = re.search(r"SHARES: \[u64; 4\] = \[(.*)\];", text(household))
    assert shares is not None
    *others, last = shares[1].split(", ")
    first, judged, most = constant(household, "FIRST"), constant(command, "JUDGED"), constant(command, "MOST")
    half, apart = first // 2, constant(command, "APART")
    kib = f"{real(household, 'PAGE_BYTES') / 1024:,.0f}"
    fast = constant(household, "FAST_BPS") // 10**6
    assert real(household, "PAGES_AT_LEAST") == 3
    says(
        "docs/advise.md",
        f"{', '.join(others)} and {last} % are tried with FQ-CoDel on the {NUMBERS[first]} first households",
        f"What goes out is shaped to {constant(household, 'UP_PERCENT')} % of the rate",
        f"less than {margin} below the best",
        f"ends below {margin} of the score",
        f"({kib} KB of 1,024 bytes)",
        f"over {constant(household, 'PAGE_HOSTS')} connections",
        f"look at each for {real(household, 'LOOKED_AT_S'):.0f} s",
        "a run has three on average",
        f"with room for {constant(household, 'ROOM'):,} packets",
        f"tried on {NUMBERS[half]} households, and the better half on {NUMBERS[first - half]} more",
        f"The best {NUMBERS[constant(command, 'KEPT')]}, FQ-CoDel, a plain queue",
        f"({NUMBERS[8]} above {fast} Mbit/s)",
        f"up to {most}, as long as",
        f"1 to {first}, then {judged} to {judged + most - 1}, and {apart} and on to check",
    )
    uses = re.search(r"ALL: \[Use; (\d+)\]", text(household))
    assert uses is not None
    says("docs/advise.md", f"With all {NUMBERS[int(uses[1])]} uses each thing weighs as much")


def test_the_pages_of_suites_and_searches_have_their_numbers() -> None:
    score, harm = "crates/suite/src/score.rs", "crates/suite/src/harm.rs"
    assert constant(score, "DRAWS") == 1000
    assert real(score, "LEAST") == 1e-3
    assert real(harm, "STARVED") == 0.1
    says(
        "docs/suites.md",
        "a thousand times (the bootstrap",
        "A share below a thousandth counts as a thousandth",
        f"more than {100 * real(harm, 'MORE'):.0f} % of what it has alone",
        "its goodput is less than a tenth",
    )
    says("docs/results.md", f"a gain, down to {real(harm, 'GAIN'):.0f}")
    tune = "python/queuewright/_tune"
    assert real(f"{tune}/_judge.py", "_DRAWS") == 1000
    assert real(f"{tune}/_search.py", "_CHANCE") == 1 / 20
    assert real(f"{tune}/_space.py", "_WIDE") == real(f"{tune}/_space.py", "_AROUND") == 10
    assert real(f"{tune}/_space.py", "_DIGITS") == 3
    assert "_FIRST_LOOK, _PARTS = 6, 8\n" in text(f"{tune}/_search.py")
    says(
        "docs/tune.md",
        "a thousand times",
        "by chance less than once in twenty",
        "more than a factor of ten are searched by ratios. Values have three digits.",
        "from a tenth of its default to ten times as much",
        "After an eighth of the runs, a quarter and a half",
        f"{NUMBERS[int(real(f'{tune}/_search.py', 'BATCH'))]} at a time",
        f"the others of the first {NUMBERS[int(real(f'{tune}/_search.py', '_ANYWHERE'))]} are random",
        f"The {NUMBERS[int(real(f'{tune}/_final.py', '_SHORT_LIST'))]} best run again",
    )
    facts = re.findall(r'"(\w+)"', re.findall(r"^_FACTS = (.*)", text(f"{tune}/_space.py"), re.M)[0])
    assert set(codes(between("docs/tune.md", "no facts of the link (", ")"))) - {"..."} <= set(facts)
    named = re.findall(r'Objective\("(\w+)", ', text(f"{tune}/_objective.py"))
    listed = {
        codes(row[0])[0]
        for row in rows(between("docs/tune.md", "## What is best", "## What is written"))
        if codes(row[0])
    }
    assert set(named) <= listed


def test_the_guide_to_what_does_not_work_has_the_lines_of_the_doctor() -> None:
    doctor = text(f"{LINUX}/doctor.rs")
    stands_in_the_way = set(re.findall(r'finding\(\s*"(\w+)",\s*false', doctor))
    page = between(
        "docs/how-to/it-does-not-work.md", "These are the lines that can say `NO`", "\n\nA line with `ok`"
    )
    assert {codes(row[0])[0] for row in rows(page)} == stands_in_the_way


def defines(control: str) -> dict[str, list[int]]:
    """The numbers that the header of a congestion control defines; the code's variant comes first."""
    prefix = f"QW_{control.upper()}_"
    known: dict[str, list[int]] = {}
    for name, made in re.findall(
        rf"^#define {prefix}(\w+) (.*?)(?: /\*.*)?$", text(f"cca/{control}.h"), re.M
    ):
        made = made.replace("QW_NS_PER_SEC", str(10**9)).replace("QW_NS_PER_MS", str(10**6))
        if re.fullmatch(r"[()\du* <]+", made):
            known.setdefault(name, []).append(eval(made.replace("u", "")))
    return known


def test_constants_on_the_pages_of_controls_are_those_of_the_headers() -> None:
    def listed(page: str) -> dict[str, list[str]]:
        part = between(f"docs/controls/{page}.md", "## Constants", "\n## ")
        return {row[0]: row[1:] for row in rows(part)}

    bbr, page = defines("bbr3"), listed("bbr3")
    gains = [(bbr[f"GAIN_{phase}"]) for phase in ("STARTUP", "DRAIN", "DOWN", "UP")]
    # Two columns: the draft's, which comes second in the header, and the code's.
    for column, which in ((0, -1), (1, 0)):
        said = page["pacing gains of Startup, Drain, DOWN, UP"][column].split(", ")
        assert [float(one) for one in said] == [pytest.approx(gain[which] / 1024, abs=6e-4) for gain in gains]
        whole = bbr["OF"][which]
        for row, name in (
            ("kept on loss", "BETA"),
            ("headroom: left free below the long-term bound", "HEADROOM"),
        ):
            assert float(page[row][column]) == pytest.approx(bbr[name][which] / whole, abs=5e-4)
        assert page["tolerated loss"][column].startswith(f"{100 * bbr['LOSS'][which] / whole:.3g} %")
    windows = [bbr[name][0] / 1024 for name in ("CWND_GAIN", "CWND_GAIN_UP", "CWND_GAIN_PROBE_RTT")]
    second = 10**9
    assert page["aggregation filter"][1].startswith(f"two times {bbr['EXTRA_ROUNDS'][0]} rounds")
    assert {
        "window gains: usual, UP, ProbeRTT": ", ".join(f"{gain:g}" for gain in windows),
        "least window": f"{bbr['MIN_CWND'][0]} packets",
        "margin of pacing": f"{100 - bbr['MARGIN_PPM'][0] / 1e4:g} %",
        "plateau: growth that does not count": f"less than 25 % in {bbr['FULL_BW_ROUNDS'][0]} rounds",
        "aggregation filter": f"{bbr['EXTRA_SLOTS'][-1]} rounds, 1 in Startup",
        "wait for the next probe": f"{bbr['WAIT_NS'][0] // second} to {bbr['WAIT_NS'][0] // second + 1} s, "
        f"or min(BDP, {bbr['RENO_ROUNDS'][0]}) rounds",
        "ProbeRTT": f"every {bbr['PROBE_RTT_NS'][0] // second} s "
        f"for {bbr['PROBE_RTT_LEN_NS'][0] // 10**6} ms",
        "span of the least round-trip time": f"{bbr['MIN_RTT_NS'][0] // second} s",
    }.items() <= {row: cells[0] for row, cells in page.items()}.items()
    ecn = page["ECN: gain of alpha, part of alpha that is cut, longest path"][1]
    cut = round(bbr["ALPHA"][0] / bbr["ECN_FACTOR"][0])
    assert ecn == f"1/{1 << bbr['ALPHA_SHIFT'][0]}, 1/{cut}, {bbr['ECN_RTT_US'][0] // 1000} ms"
    of, page = defines("prague"), listed("prague")
    power = of["MAX_CWND"][0].bit_length() - 1
    (rounds,) = re.findall(r"QW_PRAGUE_CODE \? (\d+)u : (\d+)u", text("cca/prague.h"))
    assert {
        "gain of alpha": [f"1/{1 << of['GAIN_SHIFT'][0]}", "the same"],
        "round-trip time to which shorter ones are scaled": [f"{of['TARGET_US'][0] // 1000} ms", "the same"],
        "rounds before that": [rounds[1], rounds[0]],
        "least window": [f"{of['MIN_CWND'][0]} packets", "the same"],
        "greatest window": [f"2^{power} packets", "the same"],
        "least rate": ["none", f"{of['MIN_RATE'][0] * 8 // 1000} kbit/s"],
        "burst": ["250 us", f"2^-{of['BURST_SHIFT'][0]} s"],
    }.items() <= {row: cells[:2] for row, cells in page.items()}.items()
    of, page = defines("copa"), listed("copa")
    power = of["MAX_CWND"][0].bit_length() - 1
    assert {
        "1 / delta": f"{of['PACKETS'][0]} packets; in competition up to {of['MAX_PACKETS'][0]}",
        "span of the least round-trip time": f"{of['MIN_RTT_NS'][0] // second} s",
        "least window": f"{of['MIN_CWND'][0]} packets",
        "greatest window, longest round-trip time": f"2^{power} packets, {of['MAX_RTT_US'][0] // 10**6} s",
    }.items() <= {row: cells[0] for row, cells in page.items()}.items()
    of, page = defines("ledbat_pp"), listed("ledbat-pp")
    assert of["MINUTES"] == [10]
    assert {
        "target of the delay": f"{of['TARGET_US'][0] // 1000} ms",
        "base delay": "the least of the last ten minutes, one value a minute",
        "current delay": f"least of {of['SAMPLES'][0]} samples",
        "GAIN": f"1/{of['MAX_GAIN'][0]} to 1",
        "first and least window": f"{of['MIN_CWND'][0]} packets",
        "slowdown": f"2 round trips, then a pause of {of['PAUSE'][0]} times its length",
    }.items() <= {row: cells[0] for row, cells in page.items()}.items()
    of, page = defines("westwood"), listed("westwood")
    assert {
        "shortest sample": f"{1000 // of['SAMPLES'][0]} ms",
        "gain of both averages": f"1/{1 << of['SHIFT'][0]}",
        "least round-trip time at first": f"{of['FIRST'][0]} s",
    }.items() <= {row: cells[0] for row, cells in page.items()}.items()


def structs(path: str) -> dict[str, list[str]]:
    """The keys of each table that a file of experiments may have, as TOML writes them."""
    found = {}
    for name, body in re.findall(
        r"deny_unknown_fields.*?\n(?:#\[.*\n)*pub struct (\w+) \{(.*?)\n\}", text(path), re.S
    ):
        renamed = dict(re.findall(r'rename = "(\w+)".*?\n    pub (\w+):', body))
        back = {field: key for key, field in renamed.items()}
        found[name] = [back.get(key, key) for key in re.findall(r"^    pub (\w+):", body, re.M)]
    return found


def test_the_page_of_experiments_has_every_key_of_their_files() -> None:
    page = text("docs/experiments/README.md")
    figure = structs("crates/experiments/src/figure.rs")
    assert len(figure) > 10
    named = set(re.findall(r"[a-z_]+", "\n".join(re.findall(r"```toml\n(.*?)```", page, re.S)))) | set(
        codes(page)
    )
    nulls = structs("crates/experiments/src/nulls.rs")["Null"]
    assert [key for keys in [*figure.values(), nulls] for key in keys if key not in named] == []
    kinds = between("crates/experiments/src/figure.rs", "pub enum Kind {", "\n}")
    said = re.search(r'kind = "lines" +# (.*)', page)
    assert said is not None
    assert said[1].split(", ") == [kind.lower() for kind in re.findall(r"^    (\w+)", kinds, re.M)]
    forms = re.findall(
        r"^    (\w+)", between("crates/experiments/src/figure.rs", "pub enum Form {", "\n}"), re.M
    )
    said = re.search(r'form = "value" +# (.*)', page)
    assert said is not None
    assert said[1].replace(" (%)", "").split(", ") == [form.lower() for form in forms]


def test_the_page_of_results_has_the_events_and_grades_that_there_are() -> None:
    events = set(re.findall(r'"((?:quic|queue):\w+)"', text("crates/report/src/qlog.rs")))
    page = between("docs/results.md", "## Event logs", "## The table and the report")
    assert {code for code in codes(page) if re.match("(quic|queue):", code)} == events
    bounds = re.findall(r"\((\d+)\.0, Grade::(\w+)\)", text("crates/results/src/quality/grade.rs"))
    said = ", ".join(f"`{grade.replace('Plus', '+')}` {ms}" for ms, grade in bounds)
    says("docs/results.md", said.replace("`A+` 5", "`A+` below 5 ms") + ", else `F`")
    profiles = re.findall(r'^name = "(.*)"', text("crates/results/src/quality/profiles.toml"), re.M)
    *first, last = (f"`{profile}`" for profile in profiles)
    says("docs/results.md", f"0 to 100, for {', '.join(first)} and {last} |")


def test_the_page_of_speed_has_every_case() -> None:
    bench = "crates/sim/examples/bench.rs"
    cases = re.findall(r'^        "([a-z]\d?)",\n        "(.*)",', text(bench), re.M)
    listed = rows(between("docs/bench.md", "| case |", "\n\n"))
    assert [row[0] for row in listed if len(row) > 1] == [name for name, _ in cases]
    says("docs/bench.md", f"`make bench` runs {NUMBERS[len(cases)]} cases")
    flows = re.findall(r"\(([\d_]+), \d+\)", between(bench, "const FLOWS: ", ";\n"))
    said = [
        row[0].replace(",", "")
        for row in rows(between("docs/bench.md", "## More flows", "A packet costs more"))
    ]
    assert said == [flow.replace("_", "") for flow in flows]


def test_the_changelog_counts_what_there_is() -> None:
    newest = text("CHANGELOG.md").partition("\n## ")[2].partition("\n## ")[0]
    listed = between("crates/cca/src/lib.rs", "control::controls! {", "\n}")
    # In Rust, and in C.
    controls = re.findall(r"^    (\w+) \w+\(|\w+ = ([A-Z_0-9]+),", listed, re.M)
    assert f"There are {len(qw.disciplines())}." in newest
    assert f"\n- {len(controls)} [congestion controls]" in newest


def test_names_of_the_package_on_pages_are_those_that_there_are() -> None:
    pages = [
        *sorted((ROOT / "docs").glob("*.md")),
        *sorted((ROOT / "docs/how-to").glob("*.md")),
        ROOT / "README.md",
    ]
    objects = {"results": qw.Results, "sweep": qw.Sweep, "home": qw.Scenario, "qw": qw}
    lost, looked_at = [], 0
    for page in pages:
        said = page.read_text()
        for name, path, words in re.findall(
            r"\b(qw|results|sweep|home)((?:\.[A-Za-z_]+)+)(\([^`\n]*)?", said
        ):
            # Files are not meant.
            if page.name == "python-api.md" or path.split(".")[-1] in ("toml", "json", "csv", "md", "h"):
                continue
            of = objects[name]
            steps = path[1:].split(".")
            # Of a table's or a plot's own methods others decide.
            steps = steps[:1] if name != "qw" or steps[0] == "keys" else steps
            for step in steps:
                of = getattr(of, step, None)
            looked_at += 1
            if of is None:
                lost.append(f"{page.name}: {name}{path}")
            elif callable(of) and words and not isinstance(of, type):
                depth = re.sub(r"[\[{(][^\[\](){}]*[\]})]", "", words[1:].split(")")[0])
                known = inspect.signature(of).parameters
                free = any(p.kind is p.VAR_KEYWORD for p in known.values())
                keys = re.findall(r"(?:^|, )(\w+)=", depth)
                lost += [f"{page.name}: {name}{path}: {key}" for key in keys if key not in known and not free]
    assert lost == []
    assert looked_at > 50


def test_disciplines_that_sqm_has_are_those_that_advice_takes_for_such() -> None:
    known = between("crates/suite/src/advise/commands.rs", "pub const BY_TC: ", "];")
    names = re.findall(r'name: "([\w-]+)".*sqm: true', known)
    says("docs/how-to/on-openwrt.md", f"`--aqm {','.join(names)}` asks among those that it has")
