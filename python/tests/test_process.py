"""How the package sits in a process: start, threads, Ctrl-C, the command."""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from conftest import ROOT, Command

import queuewright as qw

LONG = """
import queuewright as qw
s = qw.Scenario.simple(rate="1gbit", rtt="20ms", flows="50xcubic", duration="1000s")
print("begun", flush=True)
qw.run(s, aqm="codel", jobs=1)
"""


def test_it_needs_nothing_but_python() -> None:
    code = "import sys, queuewright; print(*{m.split('.')[0] for m in sys.modules})"
    # -I and -S: no site-packages but ours.
    folder = Path(qw.__file__).parents[1]
    out = subprocess.run(
        [sys.executable, "-S", "-c", f"import sys; sys.path.append({str(folder)!r}); {code}"],
        capture_output=True,
        text=True,
        check=True,
    )
    third = {name for name in out.stdout.split() if name.strip("_") not in sys.stdlib_module_names}
    assert not {t for t in third if t in {"numpy", "gymnasium", "polars", "pyarrow", "matplotlib", "torch"}}


def test_other_threads_go_on_meanwhile() -> None:
    scenario = qw.Scenario.simple(rate="1gbit", rtt="20ms", flows="20xcubic", duration="4s")
    turns = 0
    over = threading.Event()

    def work() -> None:
        qw.run(scenario, aqm="codel", progress=False)
        over.set()

    thread = threading.Thread(target=work)
    thread.start()
    while not over.wait(0.001):
        turns += 1
    thread.join()
    assert turns > 20


def test_progress_is_told_and_may_end_it() -> None:
    scenario = qw.Scenario.simple(rate="1gbit", rtt="20ms", flows="20xcubic", duration="5s")
    told: list[tuple[float, int, int]] = []
    qw.run(scenario, aqm="codel,pie", progress=lambda *at: told.append(at))
    assert told == sorted(told)
    assert told[-1] == (1.0, 2, 2)

    def enough(share: float, done: int, runs: int) -> None:
        raise LookupError(f"{done} of {runs}")

    with pytest.raises(LookupError, match="of 1"):
        qw.run(scenario.changed(duration="1000s"), aqm="codel", progress=enough)


def test_a_bar_on_demand(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("queuewright._progress._A_MOMENT", 0.0)
    scenario = qw.Scenario.simple(rate="1gbit", rtt="20ms", flows="50xcubic", duration="2s")
    qw.run(scenario, aqm="codel", progress=True)
    out, err = capfd.readouterr()
    assert out == ""
    assert "\r[" in err
    assert "1/1 runs" in err
    qw.run(scenario, aqm="codel", duration="100ms")
    assert capfd.readouterr().err == ""


def test_ctrl_c_ends_it() -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", LONG], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "begun\n"
    time.sleep(0.3)
    begun = time.monotonic()
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=20)
    assert "KeyboardInterrupt" in err
    assert time.monotonic() - begun < 5


def test_the_command_is_the_program(command: Command, tmp_path: Path) -> None:
    version = command("--version")
    assert version.returncode == 0
    assert version.stdout.startswith("queuewright ")
    assert command("no-such").returncode == 2
    assert command("explain", "codel").stdout == qw.explain("codel")
    module = subprocess.run(
        [sys.executable, "-m", "queuewright", "--version"], capture_output=True, text=True
    )
    assert module.stdout == version.stdout
    # What its Ctrl-C does: what has finished is kept.
    program = Path(sys.executable).parent / "queuewright"
    words = ["compare", "--rate", "1gbit", "--rtt", "20ms", "--flows", "50xcubic", "--aqm", "codel"]
    words += ["--duration", "1000s", "--json"]
    process = subprocess.Popen(
        [program, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=tmp_path
    )
    time.sleep(1)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=20)
    assert (process.returncode, err) == (130, "error: interrupted; 0 of 1 run finished\n")


def test_the_types_are_right(tmp_path: Path) -> None:
    sample = tmp_path / "sample.py"
    sample.write_text(
        "import queuewright as qw\n"
        's = qw.Scenario(link={"rate": "1mbit"}, flows=[{"cca": "bbr", "rtt": "9ms"}])\n'
        'r: qw.Results = qw.run(s, aqm=["codel", {"name": "pie"}], seeds=range(3), progress=print)\n'
        'column: list[object] = r.runs["seed"]\n'
        'names: list[str] = [d["name"] for d in qw.disciplines()]\n'
        's2: qw.Sweep = qw.sweep("a.toml", over={"link.rate": ["1mbit"]})\n'
    )
    env = {**os.environ, "MYPY_CACHE_DIR": str(tmp_path / "cache")}
    for words in (
        ["mypy", "--strict", str(sample)],
        ["mypy", "--strict", "-p", "queuewright"],
        ["mypy.stubtest", "--ignore-disjoint-bases", "queuewright._native"],
    ):
        done = subprocess.run(
            [sys.executable, "-m", *words], capture_output=True, text=True, env=env, cwd=ROOT / "python/tests"
        )
        assert done.returncode == 0, done.stdout + done.stderr
