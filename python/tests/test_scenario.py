"""What a scenario can say, and how its mistakes are answered."""

import inspect
import re
from pathlib import Path
from typing import get_type_hints

import pytest
from conftest import ROOT, Command

import queuewright as qw
from queuewright import keys


def home() -> qw.Scenario:
    return qw.Scenario(
        link={"rate": "20mbit", "buffer": "2bdp"},
        flows=[{"count": 2, "cca": "cubic", "rtt": "20ms..80ms"}],
        run={"duration": "5s", "seeds": range(1, 3)},
    )


def test_keywords_say_what_a_file_says(tmp_path: Path) -> None:
    path = tmp_path / "home.toml"
    path.write_text(home().to_toml())
    assert qw.load(path).to_dict() == home().to_dict()
    assert qw.load(path) == home()
    assert home() != home().changed({"link.rate": "10mbit"})


def amount(word: str) -> float:
    """What a text with a unit says, in the smallest unit of its kind."""
    number, unit = re.fullmatch(r"([0-9.]+)(.*)", word).groups()  # type: ignore[union-attr]
    sizes = {
        "us": 1e3,
        "ms": 1e6,
        "s": 1e9,
        "kbit": 1e3,
        "mbit": 1e6,
        "gbit": 1e9,
        "kb": 2**10,
        "mb": 2**20,
        "gb": 2**30,
    }
    return float(number) * sizes.get(unit, 1)


def test_scenarios_are_drawn_from_ranges() -> None:
    over = {"link.rate": "1mbit..100mbit", "flows[0].count": "1..9", "link.buffer": ["1bdp", "9p"]}
    drawn = [one.to_dict() for one in home().drawn(over, 400, seed=3)]
    words = [one["link"]["rate"] for one in drawn]
    rates = [float(word[:-4]) * (1e-3 if word.endswith("kbit") else 1) for word in words]
    assert min(rates) >= 1
    assert max(rates) <= 100
    # As many below the geometric mean as above it, to three standard deviations.
    assert abs(sum(rate < 10 for rate in rates) - 200) < 30
    assert {one["flows"][0]["count"] for one in drawn} == set(range(1, 10))
    assert {one["link"]["buffer"] for one in drawn} == {"1bdp", "9p"}
    # Again the same; another seed's are others; and each path has its own numbers.
    again = home().drawn(over, 400, seed=3)
    assert [one.to_dict() for one in again] == drawn
    assert [one.to_dict() for one in home().drawn(over, 400, seed=4)] != drawn
    alone = home().drawn({"link.rate": over["link.rate"]}, 400, seed=3)
    assert [one.to_dict()["link"]["rate"] for one in alone] == [one["link"]["rate"] for one in drawn]
    # From 0 on, and a range of one value.
    starts = [
        one.to_dict()["flows"][0]["start"] for one in home().drawn({"flows[0].start": "0ms..4000ms"}, 400)
    ]
    early = [start for start in starts if start.endswith("ms") or start.startswith("1.") or start == "1s"]
    assert abs(len(early) - 200) < 30
    # Whatever the unit, it is one that a scenario can have, between the ends.
    for path, given, least, most in (
        ("flows[0].size", "10kb..1000kb", "10kb", "1000kb"),
        ("flows[0].size", "1mb..2gb", "1mb", "2gb"),
        ("link.buffer", "0.5bdp..4bdp", "0.5bdp", "4bdp"),
        ("link.buffer", "1p..3p", "1p", "3p"),
        ("link.loss", "0.1%..2%", "0.1%", "2%"),
        ("link.loss", "0.05%..0.2%", "0.05%", "0.2%"),
        ("flows[0].rtt", "1500ns..0.2s", "1500ns", "200ms"),
        ("link.rate", "800kbit..2mbit", "800kbit", "2mbit"),
        ("link.rate", "12345kbit..12346kbit", "12345kbit", "12346kbit"),
    ):
        table, key = path.split(".")
        drawn = [one.to_dict() for one in home().drawn({path: given}, 50)]
        words = [(one["flows"][0] if "[" in table else one[table])[key] for one in drawn]
        values = [amount(word) for word in words]
        assert amount(least) <= min(values) <= max(values) <= amount(most), (path, given, words)
        assert len(set(words)) > 40 or given == "1p..3p", (path, given, words)
    counts = [one.to_dict()["run"]["seeds"][0] for one in home().drawn({"run.seeds": "0..3"}, 2000)]
    assert all(abs(counts.count(n) - 500) < 80 for n in range(4)), [counts.count(n) for n in range(4)]
    assert home().drawn({"link.rate": "5mbit..5mbit"}, 1)[0] == home().changed({"link.rate": "5mbit"})
    for given, count, said in (
        ({}, 1, "drawn({}): not ranges by path"),
        ({"link.rate": "5mbit"}, 1, 'over["link.rate"] = "5mbit": not a range; write "5mbit..50mbit"'),
        ({"link.rate": "5mbit..5ms"}, 1, 'over["link.rate"] = "5mbit..5ms": mbit and ms are not of one kind'),
        (
            {"link.buffer": "0.2p..0.8p"},
            1,
            'over["link.buffer"] = "0.2p..0.8p": there is no whole number in it',
        ),
        (
            {"link.loss": "0.00001%..0.00002%"},
            1,
            'over["link.loss"] = "0.00001%..0.00002%": there is no whole number of millionths in it',
        ),
        ({"link.rate": "50mbit..5mbit"}, 1, 'over["link.rate"] = "50mbit..5mbit": falls'),
        ({"link.rate": "1..5"}, 1, "link.rate"),
        (
            {"link.rate": "1mbat..5mbat"},
            1,
            'over["link.rate"] = "1mbat..5mbat": "1mbat": not a number with a unit',
        ),
        ({"link.rat": "1..5"}, 1, 'link.rat: unknown key; did you mean "rate"?'),
        ({"link.rate": []}, 1, 'over["link.rate"] = []: no value'),
        ({"link.rate": "5mbit..50mbit"}, 0, "count = 0"),
    ):
        with pytest.raises(qw.Error) as e:
            home().drawn(given, count)
        assert said in str(e.value), (given, str(e.value))


def test_simple_says_what_compare_takes() -> None:
    simple = qw.Scenario.simple(rate="20mbit", rtt="20ms..80ms", flows="2xcubic", duration="5s", seeds=[1, 2])
    assert simple.to_dict()["hash"] == home().to_dict()["hash"]


def test_help_names_every_keyword() -> None:
    def shown(function: object) -> set[str]:
        assert callable(function)
        return set(inspect.signature(function).parameters)

    assert shown(qw.Scenario) == set(get_type_hints(keys.Tables))
    flags = set(get_type_hints(keys.Flags))
    assert {"aqm", "rate", "flows", "seeds"} < flags
    assert shown(qw.Scenario.simple) == flags
    for function in (home().changed, qw.run, qw.compare, qw.sweep):
        assert flags < shown(function), function


def test_every_flag_is_one_of_the_command(command: Command) -> None:
    changed = home().changed(
        rate="5mbit", delay="1ms", buffer="9p", duration="9s", warmup="1s", stack="ns3", sample="50ms",
        seeds=range(2), aqm="codel", flows=["1xbbr", "1xcbr:1mbit"], rtt="30ms",
    )  # fmt: skip
    said = changed.to_dict()
    assert said["link"] == {**said["link"], "rate": "5mbit", "delay": "1ms", "buffer": "9p"}
    assert said["run"] == {
        "duration": "9s", "warmup": "1s", "stack": "ns3", "sample": "50ms", "seeds": [0, 1],
        "series_flows": 1,
    }  # fmt: skip
    assert [flow.get("cca", flow.get("cbr")) for flow in said["flows"]] == ["bbr", "1mbit"]
    assert said["flows"][0]["rtt"] == "30ms"
    assert [one["name"] for one in said["queue"]["disciplines"]] == ["codel"]
    flags = set(get_type_hints(keys.Flags))
    of_command = {word[2:] for word in command("compare", "--help").stdout.split() if word.startswith("--")}
    assert flags - of_command == {"delay", "sample"}


def test_what_is_left_out_is_as_in_compare() -> None:
    short = qw.Scenario(link={"rate": "1mbit", "buffer": "2bdp"}, flows=[{"cca": "bbr", "rtt": "9ms"}])
    assert short == qw.Scenario.simple(rate="1mbit", rtt="9ms", flows="1xbbr")


@pytest.mark.parametrize("path", sorted((ROOT / "examples").glob("*.toml")), ids=lambda p: p.stem)
def test_every_example_is_read_and_described(path: Path, command: Command) -> None:
    scenario = qw.load(path)
    assert str(scenario) == command("check", path).stdout.rstrip("\n")
    assert str(scenario) in repr(scenario)


def test_changes_make_another_scenario() -> None:
    base = home()
    other = base.changed({"flows.rtt": "30ms", "flows[0].count": 5}, seeds="7..9", duration="2s", warmup="1s")
    said = other.to_dict()
    assert said["flows"][0]["rtt"] == "30ms"
    assert said["flows"][0]["count"] == 5
    assert said["run"]["seeds"] == [7, 8, 9]
    assert (said["run"]["duration"], said["run"]["warmup"]) == ("2s", "1s")
    assert base == home()


@pytest.mark.parametrize(
    ("aqm", "labels"),
    [
        ("codel,pie", ["codel", "pie"]),
        (["codel:target=10ms", {"name": "static", "threshold": "1bdp"}], ["codel", "static"]),
        ({"name": "pie", "label": "mine"}, ["mine"]),
        (("fq-codel",), ["fq-codel"]),
    ],
)
def test_disciplines_in_every_form(aqm: str, labels: list[str]) -> None:
    results = qw.run(home(), aqm=aqm, seeds=1, duration="200ms")
    assert results.runs["discipline"] == labels


# How the command is asked for the same mistake, in the words after `queuewright`.
@pytest.mark.parametrize(
    "text",
    [
        '[link]\nrat = "1mbit"\n[[flows]]\ncca = "bbr"\nrtt = "9ms"\n'
        '[queue]\ndisciplines = ["pie"]\n[run]\nduration = "1s"\n',
        "[link\n",
        "",
    ],
)
def test_a_file_s_mistakes_in_the_command_s_words(text: str, tmp_path: Path, command: Command) -> None:
    path = tmp_path / "wrong.toml"
    path.write_text(text)
    said = command("check", path)
    assert said.returncode == 2
    with pytest.raises(qw.Error) as caught:
        qw.load(path)
    assert f"error: {caught.value}\n" == said.stderr


@pytest.mark.parametrize(
    ("flags", "arguments"),
    [
        (["--aqm", "coddel"], {"aqm": "coddel"}),
        (["--aqm", "codel,pie:taget=1ms"], {"aqm": ["codel", "pie:taget=1ms"]}),
        (["--seeds", "3..1"], {"seeds": "3..1"}),
        (["--duration", "10 minutes"], {"duration": "10 minutes"}),
        (["--warmup", "5s"], {"duration": "5s", "warmup": "5s"}),
    ],
)
def test_an_argument_s_mistakes_in_the_command_s_words(
    flags: list[str], arguments: dict[str, str], small_file: Path, command: Command
) -> None:
    if "warmup" in arguments:
        flags = [*flags, "--duration", "5s"]
    said = command("run", small_file, "--json", *flags)
    assert said.returncode == 2
    with pytest.raises(qw.Error) as caught:
        qw.run(small_file, **arguments)  # type: ignore[arg-type]
    # By the argument's name instead of the flag's.
    assert f"error: --{caught.value}\n" == said.stderr


def test_other_mistakes_are_one_clear_error() -> None:
    link, flows = {"rate": "1mbit", "buffer": "2bdp"}, [{"cca": "bbr", "rtt": "9ms"}]
    wrong = [
        (
            lambda: qw.Scenario(link={"rat": "1mbit"}, flows=flows),
            'link.rat: unknown key; did you mean "rate"?',
        ),
        (lambda: qw.Scenario(link=link), "flows: missing"),
        (
            lambda: qw.Scenario(link={"rate": object()}, flows=flows),
            "is of type object; write a number, a text",
        ),
        (lambda: qw.Scenario(link={"rate": float("nan")}, flows=flows), "link.rate: nan is no number"),
        (lambda: qw.run({"link": link, "flo": flows}), 'flo: unknown key; did you mean "flows"?'),
        (lambda: qw.Scenario(lnk=link), 'lnk: unknown key; did you mean "link"?'),  # type: ignore[call-arg]
        (lambda: home().changed(sed=1), 'sed: no such argument; did you mean "seeds"?'),  # type: ignore[call-arg]
        (lambda: qw.Scenario.simple(rate="1mbit"), "flows: missing; write what is sent"),
        (lambda: qw.run("nowhere.toml"), "nowhere.toml: no such file"),
        (lambda: qw.run(home(), engine="ns3"), 'engine = "ns3": not an engine'),  # type: ignore[arg-type]
        (lambda: qw.run(home(), jobs=0), "jobs = 0: out of range"),
        (lambda: home().changed({"flows[4].rtt": "1ms"}), "flows[4].rtt: there are 1 of flows"),
        (lambda: qw.sweep(home(), over={"link.rate": []}), 'over["link.rate"] = []: no value to run with'),
        (lambda: qw.explain("codle"), 'did you mean "codel"?'),
    ]
    for call, text in wrong:
        with pytest.raises(qw.Error) as caught:
            call()
        assert text in str(caught.value)
        assert "\n" not in str(caught.value)
        assert isinstance(caught.value, ValueError)


def test_files_of_one_s_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: Command) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    for kind, name in [("discipline", "late"), ("control", "mine")]:
        made = command("new", kind, name)
        assert made.returncode == 0, made.stderr
    flows = [{"cca": cca, "rtt": "20ms", "count": 2} for cca in ("./mine.h", "cubic")]
    scenario = qw.Scenario(link={"rate": "20mbit"}, flows=flows, run={"duration": "5s", "warmup": "1s"})
    results = qw.run(scenario, aqm=["codel", "./late.h"])
    assert [run["discipline"] for run in results.runs] == ["codel", "late"]
    rate = {(row["discipline"], row["cca"]): row["goodput_bps"] for row in results.groups}
    for discipline in ("codel", "late"):
        # It gives a quarter of its window where CUBIC gives three tenths.
        assert rate[discipline, "mine"] > rate[discipline, "cubic"] > 0
    with pytest.raises(qw.Error, match="no such file"):
        qw.Scenario(link={"rate": "20mbit"}, flows=[{"cca": "./yours.h", "rtt": "20ms"}])
