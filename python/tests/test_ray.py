"""Runs and trainings on a Ray cluster of two nodes on this machine: the same as without it."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import PATIENCE, SHEETS, begun, without_clock

pytest.importorskip("ray", reason="LEFT OUT: runs and trainings on a Ray cluster; Ray is not installed")

import ray

import queuewright as qw
from queuewright import _ray, _suite

OVER = {"link.rate": ["5mbit", "10mbit"], "flows[0].count": [1, 2, 3]}
TINY = """
name = "tiny"
networks = [{ rate = "20mbit", rtt = ["20ms", "40ms"], flows = [6], udp = ["1mbit"], episode = "1s" }]
learning = { steps = 1600, episodes = 4, chunk = 50, minibatches = 4, epochs = 2 }
evaluation = { every = 800, episodes = 4 }
"""


@pytest.fixture(scope="module", autouse=True)
def address() -> Iterator[str]:
    """Of a cluster of two nodes with a core each."""
    from ray.cluster_utils import Cluster

    # Workers are otherwise behind all else that the machine does.
    os.environ |= {"RAY_USAGE_STATS_ENABLED": "0", "RAY_worker_niceness": "0"}
    # By itself it gives each node 30 s to come.
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "wait": False})
    cluster.add_node(num_cpus=1, wait=False)
    cluster.wait_for_nodes(timeout=PATIENCE)
    ray.init(address=cluster.address, log_to_driver=False)
    yield cluster.address
    ray.shutdown()
    cluster.shutdown()


def same(a: qw.Table, b: qw.Table) -> None:
    assert a.columns == b.columns
    for name in a.columns:
        if name != "wall_s":
            assert repr(a[name]) == repr(b[name]), name


def test_a_sweep_is_the_same_on_a_cluster(small: qw.Scenario) -> None:
    asked: dict[str, Any] = {"over": OVER, "seeds": [1, 2], "duration": "2s"}
    told: list[tuple[float, int, int]] = []
    here = qw.sweep(small, **asked, progress=False)
    there = qw.sweep(small, **asked, engine="ray", progress=lambda *at: told.append(at))
    assert told == sorted(told)
    assert told[-1] == (1.0, 24, 24)
    assert there.points == here.points
    for a, b in zip(here, there, strict=True):
        assert without_clock(a.to_json()) == without_clock(b.to_json())
    for sheet in SHEETS:
        same(getattr(here, sheet), getattr(there, sheet))
    alone = qw.run(small, engine="ray", jobs=1, progress=False)
    assert without_clock(alone.to_json()) == without_clock(qw.run(small, progress=False).to_json())


def test_an_evaluation_is_the_same_on_a_cluster(small: qw.Scenario) -> None:
    from queuewright import learn

    asked: dict[str, Any] = {"against": ["droptail"], "seeds": [1, 2], "progress": False}
    here = learn.evaluate(["queuepilot"], [small], **asked)
    assert len(here) == 4
    assert learn.evaluate(["queuepilot"], [small], **asked, engine="ray") == here


def test_a_search_is_the_same_on_a_cluster(tmp_path: Path, small: qw.Scenario) -> None:
    pytest.importorskip("optuna")
    asked: dict[str, Any] = {"trials": 10, "runs": 1, "duration": "2s", "progress": False}
    over = "target=1ms..100ms,interval=10ms..1s"
    here, there = (
        qw.tune(small, "codel", over, engine=engine, folder=tmp_path / engine, **asked)
        for engine in ("sim", "ray")
    )
    assert there.candidates == here.candidates
    assert str(there) == str(here)


def test_files_go_with_the_scenario(tmp_path: Path, small: qw.Scenario) -> None:
    """A worker on another machine does not have them."""
    (tmp_path / "trace").write_text("".join(f"{ms}\n" for ms in range(1, 1000)))
    (tmp_path / "s.toml").write_text(small.to_toml().replace('rate = "10mbit"', 'trace = "trace"'))
    scenario = qw.load(tmp_path / "s.toml")
    packed = scenario._draft.pack()
    (tmp_path / "trace").rename(tmp_path / "gone")
    draft = qw._native.Draft.unpack(*packed)
    there = _ray.runs([qw.Scenario._of(draft)], None, None)[0]
    (tmp_path / "gone").rename(tmp_path / "trace")
    assert without_clock(there.to_json()) == without_clock(qw.run(scenario, progress=False).to_json())


def test_where_there_is_no_cluster_this_machine_is_one(small_file: Path, small: qw.Scenario) -> None:
    code = f"""
import queuewright as qw
print(qw.run({str(small_file)!r}, seeds=1, engine="ray").runs.rows()[0]["goodput_bps"])
"""
    env = {key: value for key, value in os.environ.items() if key != "RAY_ADDRESS"}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=env, timeout=PATIENCE
    )
    assert done.returncode == 0, done.stderr
    assert float(done.stdout) == qw.run(small, seeds=1, progress=False).runs["goodput_bps"][0]


def test_all_nodes_work_and_answers_keep_their_order(tmp_path: Path) -> None:
    def where(i: int) -> tuple[int, str]:
        # The first ends after three others: they are made on the other node, and not in their order.
        until = time.monotonic() + PATIENCE
        while i == 0 and len(list(tmp_path.iterdir())) < 3:
            assert time.monotonic() < until, f"waited {PATIENCE} s for the other node"
            time.sleep(0.01)
        (tmp_path / str(i)).touch()
        return i, ray.get_runtime_context().get_node_id()

    answers = _ray.Cluster().each(where, [(i,) for i in range(12)])
    assert [i for i, _ in answers] == list(range(12))
    assert len({node for _, node in answers}) == 2


@pytest.mark.parametrize("counts", [[1], [3, 3, 3], [100], [1, 200, 1]])
@pytest.mark.parametrize("size", [1, 2, 64])
def test_no_run_is_lost_between_parts(counts: list[int], size: int) -> None:
    parts = list(_ray._parts(counts, size))
    assert [sum(end - begin for _, begin, end in part) for part in parts[:-1]] == [size] * (len(parts) - 1)
    runs = [(i, run) for part in parts for i, begin, end in part for run in range(begin, end)]
    assert runs == [(i, run) for i, count in enumerate(counts) for run in range(count)]


# ------------------------------------------------------------------------ errors


def test_mistakes_are_those_of_here(small: qw.Scenario) -> None:
    with pytest.raises(qw.Error) as here:
        qw.sweep(small, over={"link.rate": ["5mbit", "5Mbps"]})
    with pytest.raises(qw.Error) as there:
        qw.sweep(small, over={"link.rate": ["5mbit", "5Mbps"]}, engine="ray")
    assert str(here.value) == str(there.value)
    with pytest.raises(qw.Error, match=r'engine = "spark": not an engine\. Allowed: sim, linux, ray'):
        qw.run(small, engine="spark")  # type: ignore[arg-type]


def test_a_worker_s_exceptions_are_ours() -> None:
    def fail(error: type[Exception]) -> None:
        raise error("codel with seed 1: nothing left")

    cluster = _ray.Cluster()
    for kind in (qw.Error, qw.RunError):
        with pytest.raises(kind, match=r"^codel with seed 1: nothing left$"):
            cluster.each(fail, [(kind,)])
    with pytest.raises(qw.RunError, match=r"^a Ray worker failed: codel with seed 1: nothing left$"):
        cluster.each(fail, [(OSError,)])


def test_a_worker_without_queuewright_is_told_of() -> None:
    def no_queuewright() -> None:
        raise ModuleNotFoundError("No module named 'queuewright'")

    said = r"^a Ray worker failed: No module named 'queuewright' \(every machine needs queuewright [0-9.]+\)$"
    with pytest.raises(qw.RunError, match=said):
        _ray.Cluster().each(no_queuewright, [()])


def test_what_cannot_work_is_said(monkeypatch: pytest.MonkeyPatch, small: qw.Scenario) -> None:
    def refused(said: str, kind: type[Exception] = qw.Error) -> None:
        with pytest.raises(kind, match=f"^{said}"):
            qw.run(small, engine="ray")

    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "ray", None)
        refused(r'engine = "ray" needs ray: pip install \'queuewright\[ray\]\'$', ImportError)
    with monkeypatch.context() as patch:
        patch.setattr(ray, "__version__", "2.9.3")
        refused('engine = "ray": this is Ray 2.9.3; 2.40 or newer is needed')
    with monkeypatch.context() as patch:
        patch.setattr(_ray, "VERSION", "0.0.1")
        refused(r"pickled by queuewright 0\.0\.1, and this is .*: the same is needed on both sides")
    with monkeypatch.context() as patch:
        patch.setattr(ray, "is_initialized", lambda: False)
        patch.setattr(ray, "init", lambda *_, **__: exec("raise ConnectionError('nobody there')"))
        patch.delenv("RAY_ADDRESS", raising=False)
        refused('engine = "ray": nobody there$')
        patch.setenv("RAY_ADDRESS", "127.0.0.1:1")
        refused('RAY_ADDRESS = "127.0.0.1:1": no cluster there: .*refused')


def test_a_suite_that_cannot_be_starts_nothing_and_leaves_no_folder(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(_suite, "Cluster", lambda: pytest.fail("a cluster was started"))
    assert _suite.main(["suite", "nonsense", "--engine", "ray"]) == 2
    assert capsys.readouterr().err.startswith('error: no suite and no folder "nonsense". Allowed: ')
    monkeypatch.setitem(sys.modules, "ray", None)
    assert _suite.main(["suite", "rfc7928", "--engine", "ray"]) == 2
    assert capsys.readouterr().err == "error: engine = \"ray\" needs ray: pip install 'queuewright[ray]'\n"
    assert not list(tmp_path.iterdir())


def test_what_progress_raises_ends_the_runs(small: qw.Scenario) -> None:
    def enough(share: float, done: int, runs: int) -> None:
        raise LookupError(f"{done} of {runs}")

    with pytest.raises(LookupError, match="of 4"):
        qw.run(small.changed({"link.rate": "1gbit"}, duration="20000s"), engine="ray", progress=enough)
    assert_free()


def test_ctrl_c_ends_them(address: str) -> None:
    code = """
import queuewright as qw
s = qw.Scenario.simple(rate="1gbit", rtt="20ms", flows="50xcubic", duration="20000s")
qw.run(s, aqm="codel", seeds=range(4), engine="ray", progress=lambda *_: print("begun", flush=True))
"""
    env = {**os.environ, "RAY_ADDRESS": address}
    with begun([sys.executable, "-c", code], env=env) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "begun\n"
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=PATIENCE)
    assert "KeyboardInterrupt" in err
    assert_free()


def assert_free() -> None:
    """The cores have nothing to do any more: else these would wait for hours, past the runner's deadline."""
    _ray.Cluster().each(str, [(i,) for i in range(8)])


# --------------------------------------------------------------------- trainings


def kept(folder: Path) -> tuple[bytes, dict[str, Any], list[dict[str, Any]]]:
    """What a training has left, but for the clock."""
    with np.load(folder / "checkpoint.npz") as file:
        arrays = {name: file[name].tobytes() for name in file.files}
    rows = [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]
    for row in rows:
        del row["seconds"], row["simulating"]
    return (folder / "policy.json").read_bytes(), arrays, rows


def test_a_training_is_the_same_on_a_cluster(tmp_path: Path) -> None:
    pytest.importorskip("jax")
    pytest.importorskip("optax")
    from queuewright import learn

    (tmp_path / "tiny.toml").write_text(TINY)
    training = learn.read(tmp_path / "tiny.toml")

    def interrupted(_: str) -> None:
        raise KeyboardInterrupt

    def quiet(_: str) -> None:
        pass

    # It ends half-way, and goes on elsewhere.
    engines: dict[str, tuple[Any, Any]] = {"here": ("sim", "ray"), "there": ("ray", "sim")}
    for name, (first, second) in engines.items():
        with pytest.raises(KeyboardInterrupt):
            learn.train(training, tmp_path / name, engine=first, say=interrupted)
        learn.train(training, tmp_path / name, engine=second, say=quiet, resume=True)
    assert kept(tmp_path / "here") == kept(tmp_path / "there")
    assert [row["steps"] for row in kept(tmp_path / "here")[2]] == [800, 1600]
    unequal = TINY.replace('episode = "1s" }', 'episode = "1s" }, { rate = "20mbit", episode = "2s" }')
    (tmp_path / "unequal.toml").write_text(unequal)
    with pytest.raises(qw.Error, match="episodes of one length are needed, and these have several"):
        learn.train(learn.read(tmp_path / "unequal.toml"), tmp_path / "unequal", engine="ray")
    with pytest.raises(qw.Error, match=r'engine = "linux": not an engine here\. Allowed: sim, ray'):
        learn.train(training, tmp_path / "no", engine="linux")  # type: ignore[arg-type]


def test_a_suite_is_the_same_on_a_cluster(address: str, tmp_path: Path) -> None:
    asked = ["suite", "rfc9743", "--aqm", "droptail,codel", "--cca", "bbr", "--quick", "--json", "--out"]
    command = [sys.executable, "-m", "queuewright", *asked]

    def made(*words: str) -> Any:
        env = os.environ | {"RAY_ADDRESS": address}
        ran = subprocess.run(
            [*command, *words], capture_output=True, text=True, cwd=tmp_path, env=env, timeout=PATIENCE
        )
        assert ran.returncode == 0, ran.stderr
        return json.loads(ran.stdout)

    assert made("there", "--engine", "ray") == made("here")
    # Everything that the command makes is there: the harm beside a control under test, too.
    names = {path.name for path in (tmp_path / "there/latest").iterdir()}
    assert {"index.md", "harm.md", "scores.csv", "cards"} <= names
