"""Numbers, times and tables as Python and its libraries have them."""

import json
import os
import pathlib
from datetime import timedelta
from typing import Any

import pytest
from conftest import ROOT

import queuewright as qw
from queuewright._results import numbers

FLOWS: list[Any] = [{"cca": "bbr", "rtt": "9ms"}]


def link(rate: Any) -> str:
    said: str = qw.Scenario(link={"rate": rate}, flows=FLOWS).to_dict()["link"]["rate"]
    return said


def test_a_number_for_a_rate_is_bits_a_second() -> None:
    np = pytest.importorskip("numpy")
    for rate in (100e6, 100_000_000, np.float64(1e8), np.int64(10**8), np.float32(1e8), "100mbit"):
        assert link(rate) == "100mbit"
        assert qw.Scenario.simple(rate=rate, flows="1xbbr", rtt="9ms").to_dict()["link"]["rate"] == "100mbit"
    base = qw.Scenario(link={"rate": 1e6, "buffer": "9p"}, flows=[{"cbr": 5e5}])
    assert base.to_dict()["flows"][0]["cbr"] == "500kbit"
    changed = base.changed({"link.rate": 2e6}, aqm={"name": "queuepilot", "rate": 3e6})
    assert changed.to_dict()["link"]["rate"] == "2mbit"
    assert changed.to_dict()["queue"]["disciplines"][0]["rate"] == "3mbit"
    assert base.changed(rate=5e6).to_dict()["link"]["rate"] == "5mbit"
    # To the nearest bit: what a computation gives is seldom whole.
    assert link(1e6 / 3) == "333.333kbit"
    schedule = qw.Scenario(link={"schedule": [("0s", 1e6), (timedelta(seconds=1), 2e6)]}, flows=FLOWS)
    assert schedule.to_dict()["link"]["schedule"] == [["0s", "1mbit"], ["1s", "2mbit"]]


def test_a_time_may_be_a_timedelta() -> None:
    np = pytest.importorskip("numpy")
    long, short = timedelta(minutes=1), timedelta(milliseconds=1.5)
    made = qw.Scenario(
        link={"rate": "1mbit", "delay": short},
        flows=FLOWS,
        run={"duration": long, "warmup": np.timedelta64(2, "s")},
    ).to_dict()
    assert made["link"]["delay"] == "1.5ms"
    assert made["run"]["duration"] == "60s"
    assert made["run"]["warmup"] == "2s"
    simple = qw.Scenario.simple(rate="1mbit", rtt=timedelta(milliseconds=9), flows="1xbbr", duration=long)
    assert simple.to_dict()["flows"][0]["rtt"] == "9ms"
    assert simple.changed({"flows.rtt": short}).to_dict()["flows"][0]["rtt"] == "1.5ms"


def test_units_can_be_asked_for() -> None:
    assert [qw.number(text) for text in ("20mbit", "1.5ms", "45kb", "0s")] == [2e7, 0.0015, 46080, 0]
    with pytest.raises(qw.Error, match='"2bdp": not a number with a unit; write a rate'):
        qw.number("2bdp")


def test_swept_rates_and_times_are_numbers() -> None:
    points = [{"a": "1mbit", "b": "20ms", "c": "2bdp", "d": 3}, {"a": "2mbit", "b": "1s", "c": "1kb", "d": 4}]
    assert numbers(points) == [
        {"a": 1_000_000, "b": 0.02, "c": "2bdp", "d": 3},
        {"a": 2_000_000, "b": 1.0, "c": "1kb", "d": 4},
    ]
    assert numbers([]) == []
    assert numbers([{"a": timedelta(seconds=2)}]) == [{"a": 2.0}]


@pytest.mark.parametrize("path", sorted((ROOT / "examples").glob("*.toml")), ids=lambda p: p.stem)
def test_dicts_and_texts_are_read_again(path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(path.parent)
    scenario = qw.load(path.name)
    for again in (qw.Scenario(**scenario.to_dict()), qw.Scenario.from_toml(scenario.to_toml())):
        assert again.to_dict() == scenario.to_dict()


def test_a_dict_that_names_files_is_read_again(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "trace").write_text("1\n2\n7\n")
    (tmp_path / "sizes.csv").write_text("1000,0.5\n2000,1\n")
    scenario = qw.Scenario(
        link={"trace": "trace", "buffer": "9p"},
        flows=[{"cca": "cubic", "rtt": "9ms", "size": {"file": "sizes.csv"}}],  # type: ignore[typeddict-item]
    )
    assert "trace_sha256" in scenario.to_dict()["link"]
    assert qw.Scenario(**scenario.to_dict()) == scenario


def test_a_dict_of_a_scenario_runs(small: qw.Scenario) -> None:
    results = qw.run(small.to_dict(), seeds=1, aqm="codel", duration="1s", warmup="0s")
    assert results.scenario.to_dict()["link"] == small.to_dict()["link"]
    assert qw.run(results.scenario).flows["goodput_bps"] == results.flows["goodput_bps"]


def test_seeds_of_numpy(small: qw.Scenario) -> None:
    np = pytest.importorskip("numpy")
    for seeds, want in ((np.int64(3), [3]), (np.arange(2, 4), [2, 3]), ([np.int64(1), 5], [1, 5])):
        assert small.changed(seeds=seeds).to_dict()["run"]["seeds"] == want
    assert small.changed({"run.seeds": np.int64(3)}).to_dict()["run"]["seeds"] == [3]
    qw.run(small, seeds=np.int64(1), aqm="codel", duration="100ms", warmup="0s", jobs=np.int64(1))


def test_a_table_is_gone_through_by_rows_and_asked_by_columns(results: qw.Results) -> None:
    table = results.flows
    rows = table.rows()
    assert list(table) == rows
    assert table[0] == rows[0]
    assert table[-1] == rows[-1]
    assert table[1:3] == rows[1:3]
    assert "seed" in table
    assert "speed" not in table
    assert 3 not in table
    # Of several batches.
    series = results.series
    for at in (0, len(series) - 1, len(series) // 2, -len(series)):
        assert series[at] == series.rows()[at]
    for outside in (len(table), -len(table) - 1):
        with pytest.raises(IndexError, match=f"row {outside}: the table has {len(table)}"):
            table[outside]
    with pytest.raises(TypeError, match="a column's name, a row's number or a slice, not float"):
        table[1.5]  # type: ignore[call-overload]


def test_a_table_shows_itself(results: qw.Results) -> None:
    shown = repr(results.flows).splitlines()
    flows = results.flows
    assert shown[0] == f"<queuewright.Table of {len(flows)} rows, {len(flows.columns)} columns"
    assert shown[1].split()[:2] == flows.columns[:2]
    assert len(shown) == 13
    assert max(map(len, shown)) <= 120
    assert "columns more>" in shown[-1]
    page = flows._repr_html_()
    assert page.count("<tr>") == 11
    assert all(f"<th>{name}</th>" in page for name in flows.columns)
    assert repr(results.queues).startswith("<queuewright.Table of 0 rows")


def test_counts_have_a_sign(results: qw.Results) -> None:
    polars = pytest.importorskip("polars")
    frame = results.runs.to_polars()
    assert frame["packets"].dtype == frame["seed"].dtype == polars.Int64
    assert results.series.to_polars()["seed"].dtype == polars.Int64
    assert (frame["packets"] - 1_000_000_000).max() < 0


def test_counts_that_may_be_missing_stay_whole_in_pandas(results: qw.Results) -> None:
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    for table in (results.runs, results.flows, results.transfers):
        frame = table.to_pandas()
        assert list(frame.columns) == table.columns
        for name in table.columns:
            whole = any(isinstance(value, int) for value in table[name])
            assert (frame[name].dtype == pandas.Int64Dtype()) >= whole, name
            want = table[name]
            assert [None if pandas.isna(value) else value for value in frame[name]] == want, name


def test_what_a_frame_needs_is_said(results: qw.Results, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "polars", None)
    with pytest.raises(ImportError, match="this needs polars: pip install polars"):
        results.runs.to_polars()


def test_a_sweep_is_a_sequence_and_can_be_saved(small: qw.Scenario, tmp_path: Any) -> None:
    sweep = qw.sweep(
        small,
        over={"link.rate": [1e6, 2e6], "run.warmup": [timedelta(0), timedelta(seconds=0.1)]},
        aqm="codel", seeds=1, duration="300ms",
    )  # fmt: skip
    some = sweep[1:3]
    assert isinstance(some, qw.Sweep)
    assert some.points == sweep.points[1:3]
    assert list(some) == [sweep[1], sweep[2]]
    assert sweep[1:1].points == []
    assert repr(sweep[1:1]) == "<queuewright.Sweep of 0>"
    assert sorted(set(sweep.runs["link.rate"])) == [1_000_000, 2_000_000]
    assert sorted(set(sweep.runs["run.warmup"])) == [0.0, 0.1]
    told = sweep.to_dict()
    assert [one["point"]["link.rate"] for one in told] == [1e6, 1e6, 2e6, 2e6]
    assert told[3]["results"] == sweep[3].to_dict()
    assert sweep.runs.columns[:2] == ["link.rate", "run.warmup"]
    swapped = qw.sweep(small, over={"run.warmup": ["0s"], "link.rate": [1e6]}, aqm="codel", duration="300ms")
    assert swapped.runs.columns[:2] == ["run.warmup", "link.rate"]
    folders = sweep.save(tmp_path)
    assert [folder.name.partition("-small-")[2] for folder in folders] == [
        f"rate-{rate}-warmup-{warmup}" for rate in (1_000_000, 2_000_000) for warmup in ("0s", "100ms")
    ]
    assert all((folder / "report.html").exists() for folder in folders)


def test_the_version_is_the_command_s() -> None:
    from importlib.metadata import version

    assert qw.__version__ == version("queuewright")


def test_plots_are_the_report_s(results: qw.Results, small: qw.Scenario) -> None:
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    ax = results.plot(delay="p95")
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["droptail", "codel"]
    means = [[] for _ in range(2)]  # type: list[list[float]]
    for row in results.runs:
        means[row["discipline"] == "codel"].append(row["sojourn_ms_p95"])
    drawn = [container[0].get_xdata()[0] for container in ax.containers]
    assert drawn == pytest.approx([sum(of) / len(of) for of in means])
    ax = results.plot_delays()
    assert len(ax.get_lines()) == 4
    assert len(ax.get_legend().get_texts()) == 2
    assert max(ax.get_lines()[0].get_ydata()) == pytest.approx(100)
    ax = results.plot_series("bottleneck.backlog_bytes", seed=2)
    assert len(ax.get_lines()) == 2
    assert len(ax.get_lines()[0].get_xdata()) == 301
    sweep = qw.sweep(small, over={"link.rate": ["2mbit", "1mbit"]}, duration="500ms", warmup="0s")
    own = plt.subplots()[1]
    assert sweep.plot("goodput_bps", ax=own) is own
    assert [list(line.get_xdata()) for line in own.get_lines()] == [[1e6, 2e6]] * 2
    for call, text in (
        (lambda: results.plot(delay="p42"), 'delay = "p42": there is none. Allowed: mean, '),
        (lambda: results.plot(port="a"), 'port = "a": there is none. Allowed: bottleneck'),
        (lambda: results.plot_series("x"), 'quantity = "x": there is none. Allowed: '),
        (
            lambda: results.plot_series("bottleneck.backlog_bytes", seed=7),
            "seed = 7: there is none. Allowed: 1, 2",
        ),
        (lambda: results.plot(ax=3), "ax = 3: no axes of matplotlib; write ax=plt.gca(), or leave it out"),
        (lambda: sweep.plot("port"), 'y = "port": there is none. Allowed: '),
        (lambda: sweep.plot(x="flows.rtt"), 'x = "flows.rtt": there is none. Allowed: link.rate'),
    ):
        with pytest.raises(qw.Error) as caught:
            call()
        assert text in str(caught.value)
    plt.close("all")


LINK: dict[str, Any] = {"rate": "20mbit"}

SHORT: Any = {"seeds": 1, "duration": "300ms", "warmup": "0s", "progress": False}


@pytest.mark.parametrize(
    ("path", "values"),
    [
        ("queue.disciplines", [["codel"], ["pie"]]),
        ("flows", [FLOWS, [{"cca": "cubic", "rtt": "9ms"}]]),
        ("run.seeds", [[1], [2]]),
    ],
)
def test_what_is_swept_may_be_lists_and_tables(path: str, values: Any) -> None:
    pytest.importorskip("matplotlib").use("Agg")
    flags = {**SHORT, "aqm": "codel"}
    del flags["aqm" if path == "queue.disciplines" else "seeds"]
    sweep = qw.sweep(qw.Scenario(link=LINK, flows=FLOWS), over={path: values}, **flags)
    ticks = sweep.plot("packets").get_xticklabels()
    assert [json.loads(tick.get_text()) for tick in ticks] == values


def test_a_measure_that_some_runs_lack_is_drawn() -> None:
    pytest.importorskip("matplotlib").use("Agg")
    base = qw.Scenario(link=LINK, flows=FLOWS)
    over = {"flows[0].start": ["299ms", "0s"]}
    (line,) = qw.sweep(base, over=over, aqm="codel", **SHORT).plot().get_lines()
    assert list(line.get_xdata()) == [0.0]


def test_a_picture_without_anything_is_an_error() -> None:
    pytest.importorskip("matplotlib").use("Agg")
    base = qw.Scenario(link=LINK, flows=FLOWS)
    idle = qw.run(base.changed({"flows[0].start": "299ms"}), aqm="codel", **SHORT)

    def at_once(*_: object) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt) as caught:
        qw.run(base, aqm="codel", duration="20000s", progress=at_once)
    none: qw.Results = caught.value.results  # type: ignore[attr-defined]
    calls: list[Any] = [
        (idle.plot, "results: no packet was measured, so there is nothing to draw"),
        (idle.plot_delays, "results: no packet was measured, so there is nothing to draw"),
        *(
            (call, "results: no run has finished, so there is nothing to draw")
            for call in (none.plot, none.plot_delays, lambda: none.plot_series("bottleneck.backlog_bytes"))
        ),
    ]
    for call, said in calls:
        with pytest.raises(qw.Error) as e:
            call()
        assert str(e.value) == said


def test_labels_are_shown_as_they_are(tmp_path: Any) -> None:
    pytest.importorskip("matplotlib").use("Agg")
    aqm = [{"name": "codel", "label": r"$\frac$"}, {"name": "codel", "label": "_x"}]
    ax = qw.run(qw.Scenario(link=LINK, flows=FLOWS), aqm=aqm, **SHORT).plot()
    assert [text.get_text() for text in ax.get_legend().get_texts()] == [r"\$\frac\$", " _x"]
    ax.figure.savefig(tmp_path / "picture.png")


# A newcomer's first mistakes, and what each is answered: the name that was typed, and what to write.
MISTAKES: list[tuple[Any, str]] = [
    (lambda: qw.run("hom.toml"), 'hom.toml: no such file; did you mean "home.toml"?'),
    (lambda: qw.run("home"), 'home: no such file; did you mean "home.toml"?'),
    (
        lambda: qw.Scenario("home.toml"),
        'qw.Scenario("home.toml"): its tables have names; write qw.load("home.toml")',
    ),  # type: ignore[misc]
    (
        lambda: qw.Scenario("a\0b"),  # type: ignore[misc]
        r'qw.Scenario("a\x00b"): its tables have names; write qw.load("a\x00b")',
    ),
    (
        lambda: qw.run("home.toml", ["codel"]),  # type: ignore[misc]
        'qw.run(..., ["codel"]): an argument without its name; write aqm=["codel"], or which it is',
    ),
    (
        lambda: qw.compare("home.toml", ["codel"], 3),  # type: ignore[misc]
        "qw.compare(..., 3): an argument without its name; write seeds=3, or which it is",
    ),
    (
        lambda: qw.Scenario.simple("1mbit"),  # type: ignore[misc]
        'qw.Scenario.simple(..., "1mbit"): an argument without its name; write rate="1mbit", or which it is',
    ),
    (
        lambda: qw.run("home.toml", jobs=True),
        "jobs = True: not a whole number; write jobs=2",
    ),
    (
        lambda: qw.run('[link]\nrate = "1mbit"'),
        "scenario: a text of several lines is no path; write qw.Scenario.from_toml(text)",
    ),
    (
        lambda: qw.Scenario(link={"rate": "20 Mbit/s"}, flows=FLOWS),
        'link.rate = "20 Mbit/s": "Mbit/s" is not a unit of rate; write "20mbit"',
    ),
    (
        lambda: qw.Scenario(link={"rate": 20}, flows=FLOWS),
        "link.rate = 20: out of range; allowed: 1kbit to 1000gbit; a number is bits a second: write 20e6, or "
        '"20mbit"',
    ),
    (
        lambda: qw.Scenario(link=LINK, flows=FLOWS).changed(duration=30),  # type: ignore[call-arg]
        'duration = "30": a time needs a unit; write "30ms" or "30s"',
    ),
    (
        lambda: qw.Scenario(link={"rate": "1mbit", "buffer": 100}, flows=FLOWS),  # type: ignore[typeddict-item]
        'link.buffer = 100: a size needs a unit; write "100p" for packets, "100b" or "100kb" for bytes, or '
        '"100bdp"',
    ),
    (
        lambda: qw.Scenario(link=LINK, flows=[{"cca": "cubic"}]),
        'flows[0].rtt: missing; write the round-trip time without queues, such as "20ms" or "20ms..80ms"',
    ),
    (
        lambda: qw.Scenario.simple(rate="1mbit"),
        'flows: missing; write what is sent, such as flows="10xcubic,4xbbr"',
    ),
    (
        lambda: qw.Scenario.simple(rate="1mbit", rtt="9ms", flows=[{"cca": "bbr"}]),  # type: ignore[list-item]
        'flows = {"cca": "bbr"}: tables are for Scenario(flows=[...]); write words: "10xcubic"',
    ),
    (
        lambda: qw.sweep("home.toml", over={"link.rate": "10mbit"}),
        'over["link.rate"] = "10mbit": not a list; write ["10mbit"]',
    ),
    (
        lambda: qw.sweep("home.toml", over={}),
        "over = {}: no path to vary; write a list of values for each path: "
        'over={"link.rate": ["10mbit", "100mbit"]}',
    ),
    (
        lambda: qw.run(3),  # type: ignore[arg-type]
        "scenario = 3: not a scenario; write qw.Scenario(...), a dict of tables or a file's path",
    ),
    (lambda: qw.run("home.toml", jobs="2"), 'jobs = "2": not a whole number; write jobs=2'),  # type: ignore[arg-type]
    (lambda: qw.run("home.toml", progress="no"), 'progress = "no": write True, False or a function'),  # type: ignore[arg-type]
    (
        lambda: qw.Scenario(rate="20mbit"),  # type: ignore[call-arg]
        'rate: no table, link.rate says it; or write qw.Scenario.simple(rate="20mbit")',
    ),
    (
        lambda: qw.Scenario(link=LINK, flows={"cca": "cubic"}),  # type: ignore[typeddict-item]
        'flows: a list of tables; write flows=[{"cca": "cubic"}]',
    ),
    (
        lambda: qw.Scenario(link=LINK, flows=FLOWS, queue=["codel"]),  # type: ignore[typeddict-item]
        'queue: a table; write queue={"disciplines": ["codel"]}',
    ),
    (
        lambda: qw.sweep("home.toml", over={"aqm": ["codel"]}),
        'over: "aqm" is a flag and no path; write "queue.disciplines"',
    ),
    (
        lambda: qw.sweep("home.toml", over={"link.rate": range(1_000_000, 2_000_000)}),
        "over: more than 10000 combinations; write fewer values, and sweep in parts",
    ),
    (
        lambda: qw.run("home.toml", seeds=range(10**9)),
        "seeds: more than 100000 values; write fewer",
    ),
    (
        lambda: qw.Scenario(link={"rate": float("nan")}, flows=FLOWS),
        "link.rate: nan is no number that a scenario has; write one that ends, such as 1.5",
    ),
    (
        lambda: qw.Scenario(link={"rate": b"20mbit"}, flows=FLOWS),  # type: ignore[typeddict-item]
        "link.rate: b'20mbit' is of type bytes; "
        'write a number, a text with its unit ("20mbit"), a list or a dict',
    ),
    (
        lambda: qw.load("home.toml").changed({1: "20mbit"}),  # type: ignore[dict-item]
        'changed: 1 is no path; write a text such as "link.rate"',
    ),
    (
        lambda: qw.Scenario.from_toml(pathlib.Path("home.toml")),  # type: ignore[arg-type]
        f"toml = {pathlib.Path('home.toml')!r}: not a text; for a file write qw.load(path)",
    ),
    (lambda: qw.explain(None), 'name = None: not a name; write explain("codel")'),  # type: ignore[arg-type]
    (
        lambda: qw.Scenario(link=LINK),
        'flows: missing; write flows=[{"cca": "cubic", "rtt": "20ms"}]',
    ),
    (lambda: qw.Scenario(flows=FLOWS), 'link: missing; write link={"rate": "20mbit"}'),
    (
        lambda: qw.run("home.toml", rat="20mbit"),  # type: ignore[call-arg]
        'rat: no such argument; did you mean "rate"? Allowed: scenario, without, engine, jobs, progress, '
        "rate, trace, delay, buffer, duration, warmup, stack, sample, seeds, flows, rtt, aqm",
    ),
    (
        lambda: qw.run("home.toml", worker=3),  # type: ignore[call-arg]
        "worker: no such argument. Allowed: scenario, without, engine, jobs, progress, rate, trace, "
        "delay, buffer, duration, warmup, stack, sample, seeds, flows, rtt, aqm",
    ),
    (lambda: qw.run(""), 'scenario = "": not a path; write a text, or a pathlib.Path'),
    (lambda: qw.load(5), "path = 5: not a path; write a text, or a pathlib.Path"),  # type: ignore[arg-type]
    (
        lambda: qw.load("home.toml").changed("link.rate"),  # type: ignore[arg-type]
        'changed("link.rate"): not values by path; write {"link.rate": "50mbit"}',
    ),
    (
        lambda: qw.load("home.toml").changed({"": 1}),
        'changed: "" is no path; write a text such as "link.rate"',
    ),
    (
        lambda: qw.run("home.toml", aqm=b"codel"),  # type: ignore[arg-type]
        'aqm = b\'codel\': not a list of disciplines; write aqm=["codel", "pie"]',
    ),
    (
        lambda: qw.run("home.toml", aqm=[None]),  # type: ignore[list-item]
        'aqm[0] = None: not a discipline; write a name such as "codel"',
    ),
    (lambda: qw.run("home.toml", seeds=[]), "seeds: empty; write one value at least, or leave it out"),
    (
        lambda: qw.run("home.toml", seeds=[None]),  # type: ignore[list-item]
        "seeds = None: no value that it has; write a text or a number",
    ),
    (
        lambda: qw.run("home.toml", rate={"a": 1}),  # type: ignore[arg-type]
        'rate = {"a": 1}: no value that it has; write a text or a number',
    ),
    (lambda: qw.explain("\ud800"), "name: '\\ud800' is half a character; write whole ones"),
    (lambda: qw.number("\ud800"), "value: '\\ud800' is half a character; write whole ones"),
    (lambda: qw.load("\ud800"), "path: '\\ud800' is half a character; write whole ones"),
    (
        lambda: qw.Scenario(name="a\ud800", link=LINK, flows=FLOWS),
        "name: '\\ud800' is half a character; write whole ones",
    ),
    (
        lambda: qw.run("home.toml", rate="\ud800"),
        "rate: '\\ud800' is half a character; write whole ones",
    ),
    (
        lambda: qw.Scenario.from_toml("\ud800"),
        "toml: '\\ud800' is half a character; write whole ones",
    ),
    (
        lambda: qw.Scenario.from_toml("#" * (1 << 24) + "#"),
        "toml: larger than 16 MB: not a scenario",
    ),
    (lambda: qw.run("home.toml", aqm=3), 'aqm = 3: not a list of disciplines; write aqm=["codel", "pie"]'),  # type: ignore[arg-type]
]


@pytest.mark.parametrize(("call", "said"), MISTAKES, ids=lambda x: x if isinstance(x, str) else "")
def test_a_newcomer_s_mistakes_are_answered_with_what_to_type(
    call: Any, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(os.path.join(ROOT, "examples"))
    with pytest.raises(qw.Error) as caught:
        call()
    assert str(caught.value) == said


def test_an_error_has_no_word_of_the_command() -> None:
    base = qw.Scenario(link=LINK, flows=FLOWS)
    wrong: list[Any] = [
        lambda: base.changed(rate="1x"),
        lambda: base.changed(seeds="3..1"),
        lambda: base.changed(flows="3xcubix", rtt="1ms"),
        lambda: base.changed({"link.loss": 0.1}).changed(aqm="codel:taget=1ms"),
        lambda: qw.Scenario.simple(flows="1xcubic", rtt="1ms"),
        lambda: qw.Scenario.simple(rate="1mbit", flows="1xcubic"),
        lambda: qw.run(base.changed({"link.loss": 0.1}), engine="linux", aqm="codel"),
    ]
    for call in wrong:
        with pytest.raises(qw.Error) as caught:
            call()
        assert "--" not in str(caught.value)


def test_what_says_the_same_is_taken() -> None:
    np = pytest.importorskip("numpy")
    base = qw.Scenario(link=LINK, flows=FLOWS)
    assert base.changed(duration=np.timedelta64(30, "s")) == base.changed(duration="30s")
    assert base.changed({"flows.rtt": np.timedelta64(1500, "ns")}) == base.changed({"flows.rtt": "1500ns"})
    assert base.changed({"link.rate": np.array(5e6)}) == base.changed({"link.rate": "5mbit"})
    assert base.changed(rate=np.array(5e6)) == base.changed(rate="5mbit")
    assert base.changed(seeds=np.array(3)) == base.changed(seeds=3)
    assert base.changed(seeds=np.array([1, 3])) == base.changed(seeds=[1, 3])
    assert base.changed(duration=np.array(30, "m8[s]")) == base.changed(duration="30s")
    assert base.changed(duration=np.timedelta64(2, "25s")) == base.changed(duration="50s")
    assert base.changed({"flows.rtt": np.timedelta64(30_000_000, "ps")}) == base.changed(
        {"flows.rtt": "30us"}
    )
    assert base.changed(duration=np.str_("30s")) == base.changed({"run.duration": np.array("30s")})
    assert base.changed({"link.rate": np.str_("5mbit")}) == base.changed(rate=np.array(["5mbit"])[0])
    assert base.changed(aqm=np.array("codel")) == base.changed(aqm=np.array(["codel"]))
    assert qw.number(np.array(20e6)) == qw.number(np.str_("20mbit")) == qw.number("20mbit")
    assert qw.number(20e6) == qw.number("20mbit")
    swept = qw.sweep(base, over={"link.rate": ["5mbit", 20e6]}, aqm="codel", duration="1s", warmup="0s")
    assert list(swept.runs["link.rate"]) == [5e6, 20e6]


# What no scenario has, by the start of what it is answered.
NOWHERE: list[tuple[Any, str]] = [
    (lambda base, _: base.changed({"link.rate": 10**5000}), "link.rate = (int): too large"),
    (lambda base, _: base.changed(seeds=[10**5000]), "seeds = (int): too large"),
    (lambda base, _: base.changed(duration=10**5000), "duration = (int): too large"),
    (lambda base, _: base.changed(rate=10**400), "rate = 1000"),
    (lambda *_: qw.number(10**400), "value = 1000"),
    (lambda *_: qw.number(True), "value = True: not a number with a unit"),
    (lambda base, np: base.changed(seeds=np.array([[1, 2]])), "seeds = array([1, 2]): no value that it has"),
    (lambda base, np: base.changed(rate=np.bytes_(b"5mbit")), "rate = "),
    (
        lambda base, np: base.changed({"link.rate": np.array(object(), object)}),
        "link.rate: <object object at",
    ),
    (
        lambda base, np: qw.sweep(base, over={"link.rate": np.array(5e6)}),
        'over["link.rate"] = 5000000.0: not a list; write [5000000.0]',
    ),
    (lambda base, _: base.changed({"link": {10**5000: 1}}), "link: the key (int) is no text"),
    (lambda base, _: base.changed({"a\0b": 1}), r'changed: "a\x00b" is no path'),
    (lambda base, _: base.changed({"\ud800": 1}), r'changed: "\ud800" is no path'),
    (lambda base, _: base.changed(**{"": 1}), '"": no such argument.'),
]


@pytest.mark.parametrize(("call", "said"), NOWHERE, ids=lambda x: x if isinstance(x, str) else "")
def test_what_no_scenario_has_is_one_line(call: Any, said: str) -> None:
    np = pytest.importorskip("numpy")
    with pytest.raises(qw.Error) as caught:
        call(qw.Scenario(link=LINK, flows=FLOWS), np)
    assert str(caught.value).startswith(said)
    assert str(caught.value).isprintable()


def test_numpy_s_times_without_a_length_are_refused() -> None:
    np = pytest.importorskip("numpy")
    base = qw.Scenario(link=LINK, flows=FLOWS)
    for time in (
        np.timedelta64(30),
        np.timedelta64("NaT"),
        np.timedelta64("NaT", "s"),
        np.timedelta64(1, "M"),
    ):
        said = r'no time that has a length; write np.timedelta64\(30, "s"\)$'
        with pytest.raises(qw.Error, match=said):
            base.changed(duration=time)
        with pytest.raises(qw.Error, match=said):
            base.changed({"flows.rtt": time})
    with pytest.raises(qw.Error, match=r"duration = .*: too large"):
        base.changed(duration=np.timedelta64(1 << 60, "s"))


def test_a_long_value_is_cut_in_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(os.path.join(ROOT, "examples"))
    long = "x" * 5_000_000
    wrong: list[Any] = [
        lambda: qw.explain(long),
        lambda: qw.number(long),
        lambda: qw.run({long: 1}),
        lambda: qw.run("home.toml", **{long: 1}),
        lambda: qw.run([long] * 1000),  # type: ignore[arg-type]
        lambda: qw.run("home.toml", jobs=10**5000),
        lambda: qw.run("home.toml", aqm=long),
        lambda: qw.run("home.toml", rate=long),
        lambda: qw.Scenario(long),  # type: ignore[misc]
        lambda: qw.load("home.toml").changed({long: 1}),
        lambda: qw.Scenario(link={10**400: 1}),  # type: ignore[typeddict-item]
    ]
    for call in wrong:
        with pytest.raises(qw.Error) as caught:
            call()
        assert len(str(caught.value)) < 2000


def test_lists_that_contain_themselves_are_refused() -> None:
    endless: list[Any] = []
    endless.append(endless)
    with pytest.raises(qw.Error, match="so deep in one another"):
        qw.Scenario(link=LINK, flows=endless)
    with pytest.raises(qw.Error, match=r"seeds = .*: no value that it has"):
        qw.Scenario(link=LINK, flows=FLOWS).changed(seeds=endless)


def test_results_that_cannot_be_saved_name_the_argument() -> None:
    made = qw.run(qw.Scenario(link=LINK, flows=FLOWS), aqm="codel", duration="1s", warmup="0s")
    with pytest.raises(qw.Error, match=r"^folder: "):
        made.save("/proc/here")
    with pytest.raises(AttributeError, match=r"write results\.runs\.to_pandas\(\)"):
        made.to_pandas()
