"""What comes of runs: the command's bytes, tables for other libraries."""

import json
import math
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import SHEETS, Command, without_clock

import queuewright as qw


def test_json_is_the_command_s_to_the_byte(small_file: Path, results: qw.Results, command: Command) -> None:
    said = command("run", small_file, "--json")
    assert said.returncode == 0, said.stderr
    assert without_clock(results.to_json()) == without_clock(said.stdout)
    assert results.to_dict()["runs"][0]["discipline"] == "droptail"


def test_harm_is_the_command_s(tmp_path: Path, command: Command) -> None:
    file = tmp_path / "two.toml"
    file.write_text(
        '[link]\nrate = "10mbit"\n[[flows]]\nname = "old"\ncca = "cubic"\nrtt = "20ms"\n'
        '[[flows]]\nname = "new"\ncca = "bbr"\nrtt = "20ms"\n'
        '[queue]\ndisciplines = ["droptail"]\n[run]\nduration = "6s"\nwarmup = "2s"\n'
    )
    results = qw.run(file, without="new")
    said = command("run", file, "--json", "--without", "new")
    assert said.returncode == 0, said.stderr
    assert without_clock(results.to_json()) == without_clock(said.stdout)
    of_old, of_new = results.groups["harm_goodput"]
    assert 0 < of_old < 1
    assert of_new is None
    for wrong, why in [
        (["nobody"], 'without: no group of flows is named "nobody"; there are old, new'),
        (["old", "new"], "without: no group is left that could lose anything; leave one out"),
        (7, 'without = 7: write the names of groups of flows, such as ["bbr"]'),
    ]:
        with pytest.raises(qw.Error) as e:
            qw.run(file, without=wrong)  # type: ignore[arg-type]
        assert str(e.value) == why
    with pytest.raises(qw.Error, match="without: not with engine"):
        qw.run(file, without=["new"], engine="ray")


def test_the_summary_is_the_command_s(
    small_file: Path, results: qw.Results, command: Command, tmp_path: Path
) -> None:
    said = command("run", small_file, "--out", tmp_path)
    assert said.stdout.startswith(str(results) + "\n")
    assert "codel" in results._repr_html_()
    assert repr(results).startswith("<queuewright.Results\n")


def test_the_folder_is_the_command_s(
    small_file: Path, results: qw.Results, command: Command, tmp_path: Path
) -> None:
    assert command("run", small_file, "--out", tmp_path / "command").returncode == 0
    saved = results.save(tmp_path / "python")
    written = {p.relative_to(saved): p for p in saved.rglob("*.csv")}
    of_command = (tmp_path / "command" / "latest").resolve()
    assert set(written) == {p.relative_to(of_command) for p in of_command.rglob("*.csv")}
    for name, path in written.items():
        assert path.read_text() == (of_command / name).read_text(), name
    assert (saved / "report.html").exists()


@pytest.mark.parametrize("sheet", SHEETS)
def test_others_read_the_tables(sheet: str, results: qw.Results) -> None:
    polars = pytest.importorskip("polars")
    pyarrow = pytest.importorskip("pyarrow")
    table = getattr(results, sheet)
    frame = polars.DataFrame(table)
    arrow = pyarrow.table(table)
    assert frame.columns == arrow.column_names == table.columns
    assert frame.height == arrow.num_rows == len(table)
    assert (len(table) > 0) == (sheet not in ("queues", "responsiveness"))
    for name in table.columns:
        assert frame[name].to_list() == arrow[name].to_pylist() == table[name]
    assert table.rows() == frame.to_dicts()


def test_the_values_are_not_copied(results: qw.Results) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    first, second = (pyarrow.table(results.series) for _ in range(2))
    for name in ("time_s", "bottleneck.backlog_bytes"):
        addresses = [t[name].chunk(0).buffers()[1].address for t in (first, second)]
        assert addresses[0] == addresses[1], name
    # They outlive what they came from.
    kept = pyarrow.table(
        qw.run(qw.Scenario.simple(rate="1mbit", rtt="9ms", flows="1xbbr"), aqm="pie", duration="1s").series
    )
    assert kept["time_s"].to_pylist()[0] == 0.0


def test_tables_hold_what_the_results_hold(results: qw.Results) -> None:
    runs = results.to_dict()["runs"]
    rows = results.runs.rows()
    assert [(r["discipline"], r["seed"]) for r in runs] == [(r["discipline"], r["seed"]) for r in rows]
    for run, row in zip(runs, rows, strict=True):
        port = run["ports"][0]
        assert row["utilization"] == port["utilization"]
        assert row["sojourn_ms_p99_9"] == port["sojourn_ms"]["p99_9"]
        assert row["drops_limit"] == port["drops"].get("limit", 0)
        assert math.isclose(row["goodput_bps"], sum(g["goodput_bps"] for g in run["groups"]))
    flows = [flow for run in runs for flow in run["flows"]]
    for flow, row in zip(flows, results.flows.rows(), strict=True):
        assert all(row[key] == flow[key] for key in ("group", "cca", "base_rtt_ms", "goodput_bps", "fct_s"))
    assert results.series["time_s"][:2] == [0.0, 0.01]
    with pytest.raises(KeyError, match="no column"):
        results.runs["speed"]


def test_rows_are_the_same_however_they_are_asked_for(small: qw.Scenario) -> None:
    table = qw.sweep(small, over={"link.rate": ["5mbit", "10mbit"]}, duration="300ms", warmup="100ms").flows
    rows = table.rows()
    assert list(table) == rows
    assert [table[i] for i in range(len(table))] == rows
    for of in [
        slice(3),
        slice(1, None, 2),
        slice(None, None, -1),
        slice(-2, None),
        slice(5, 2),
        slice(99, 100),
    ]:
        assert table[of] == rows[of], of


def test_a_pickled_table_that_was_changed_is_refused(results: qw.Results) -> None:
    whole = pickle.dumps(results.runs)
    assert pickle.loads(whole).rows() == results.runs.rows()
    for at in range(len(whole) // 3, 2 * len(whole) // 3, 97):
        with pytest.raises(qw.Error, match="its bytes are not those that were written"):
            pickle.loads(whole[:at] + bytes([whole[at] ^ 0x55]) + whole[at + 1 :])


def test_a_path_that_is_a_column_already_has_a_name_of_its_own(small: qw.Scenario) -> None:
    flows = [[{"cca": "cubic", "rtt": "20ms", "count": 3}], [{"cca": "newreno", "rtt": "20ms"}]]
    sweep = qw.sweep(small, over={"flows": flows}, aqm="codel", seeds=1, duration="300ms", warmup="100ms")
    assert sweep.groups["flows"] == [3, 1]
    assert [json.loads(text) for text in sweep.groups["over.flows"]] == flows
    assert "over.flows" not in sweep.runs.columns


def test_a_discipline_s_own_queues() -> None:
    results = qw.run(
        qw.Scenario.simple(rate="10mbit", rtt="20ms", flows="2xcubic"), aqm="dualpi2", duration="1s"
    )
    assert len(set(results.queues["queue"])) == 2


def test_a_sweep_is_all_combinations(small: qw.Scenario) -> None:
    sweep = qw.sweep(
        small,
        over={"link.rate": ["5mbit", "10mbit"], "flows[0].count": [1, 2]},
        aqm=["codel", "pie"],
        seeds=1,
        duration="500ms",
        warmup="100ms",
    )
    assert len(sweep) == 4
    assert sweep.points[1] == {"link.rate": "5mbit", "flows[0].count": 2}
    rows = sweep.runs.rows()
    assert [(r["link.rate"], r["flows[0].count"], r["discipline"]) for r in rows] == [
        (rate, count, aqm) for rate in (5_000_000, 10_000_000) for count in (1, 2) for aqm in ("codel", "pie")
    ]
    alone = qw.run(
        small.changed(sweep.points[3]), aqm=["codel", "pie"], seeds=1, duration="500ms", warmup="100ms"
    )
    assert without_clock(alone.to_json()) == without_clock(sweep[3].to_json())
    for sheet in SHEETS:
        assert len(getattr(sweep, sheet)) == sum(len(getattr(one, sheet)) for one in sweep)
    assert "link.rate = 5mbit, flows[0].count = 1" in str(sweep)


def test_on_any_number_of_threads(small: qw.Scenario, results: qw.Results) -> None:
    assert without_clock(qw.run(small, jobs=1).to_json()) == without_clock(results.to_json())


def test_disciplines_and_pages() -> None:
    names = [d["name"] for d in qw.disciplines()]
    assert {"codel", "titrate", "queuepilot"} <= set(names)
    assert qw.explain("codel").startswith("# ")
    page: Callable[[str], str] = qw.explain
    assert all(page(name) for name in names)
    assert json.dumps(qw.disciplines())


@pytest.mark.parametrize(
    ("over", "flags", "said"),
    [
        ({"link.rate": ["5mbit", "9mbit"]}, {"rate": "9mbit"}, 'over["link.rate"] and rate: both say it'),
        (
            {"run.duration": ["2s", "3s"]},
            {"duration": "2s", "seeds": [1]},
            'over["run.duration"] and duration',
        ),
        (
            {"queue.disciplines": [["codel"], ["pie"]]},
            {"aqm": ["codel"]},
            'over["queue.disciplines"] and aqm',
        ),
        (
            {"link.rate": ["5mbit"], "link": [{"rate": "6mbit", "buffer": "2bdp"}]},
            {},
            'over["link.rate"]: another path of over says it, too',
        ),
    ],
)
def test_what_a_sweep_varies_is_said_once(small: qw.Scenario, over: Any, flags: Any, said: str) -> None:
    with pytest.raises(qw.Error) as e:
        qw.sweep(small, over=over, **flags)
    assert str(e.value).startswith(said)


def test_what_was_interrupted_is_saved_as_such(small: qw.Scenario, tmp_path: Path) -> None:
    def once(_share: float, done: int, _runs: int) -> None:
        if done:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt) as e:
        qw.run(small, seeds=range(1, 9), duration="1000s", progress=once, jobs=1)
    folder = e.value.results.save(tmp_path)  # type: ignore[attr-defined]
    manifest = json.loads((Path(folder) / "manifest.json").read_text())
    assert (manifest["complete"], manifest["runs_total"]) == (False, 16)
    assert 0 < manifest["runs_finished"] < 16
    first = str(e.value.results).splitlines()[0]  # type: ignore[attr-defined]
    assert first == f"{manifest['runs_finished']} of 16 runs"
