"""How the package sits in a process: start, threads, Ctrl-C, the command."""

import copy
import inspect
import io
import multiprocessing
import os
import pickle
import pydoc
import re
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from conftest import PATIENCE, ROOT, SHEETS, SMALL, Command, begun, page_blocks, wait_for

import queuewright as qw
from queuewright.__main__ import ELSEWHERE

LONG = """
import queuewright as qw
s = qw.Scenario.simple(rate="1gbit", rtt="20ms", flows="50xcubic", duration="20000s")
print("begun", flush=True)
qw.run(s, aqm="codel", jobs=1)
"""


def test_it_needs_nothing_but_python() -> None:
    code = "import sys, queuewright; print(*sys.modules)"
    # -I and -S: no site-packages but ours.
    folder = Path(qw.__file__).parents[1]
    out = subprocess.run(
        [sys.executable, "-S", "-c", f"import sys; sys.path.append({str(folder)!r}); {code}"],
        capture_output=True,
        text=True,
        check=True,
    )
    there = set(out.stdout.split())
    others = {name.partition(".")[0] for name in there} - sys.stdlib_module_names - {"queuewright"}
    assert not others - {"__main__"}
    # Nor what is for one engine, tuning, notebooks, saving or errors.
    late = {"_ray", "_networks", "_tune", "_plot", "_suite", "learn", "envs"}
    assert not there & {f"queuewright.{name}" for name in late}
    assert not there & {"dataclasses", "difflib", "html", "pathlib", "pickle", "shutil", "socket", "tempfile"}


def test_what_is_imported_late_is_as_what_is_there() -> None:
    assert qw.tune is qw.tune
    assert set(qw.__all__) <= set(dir(qw))
    assert list(inspect.signature(qw.tune).parameters)[:2] == ["scenario", "aqm"]
    page = pydoc.plain(pydoc.render_doc(qw))
    assert "tune(scenario" in page
    assert "class Tuned" in page
    with pytest.raises(AttributeError, match="no attribute 'swep'"):
        qw.swep  # type: ignore[attr-defined]  # noqa: B018


def test_other_threads_go_on_meanwhile() -> None:
    # To its end it would be hours.
    scenario = qw.Scenario.simple(rate="1gbit", rtt="20ms", flows="20xcubic", duration="20000s")
    turns = most = 0
    enough = threading.Event()

    def told(*_: object) -> None:
        """Where a run kept Python to itself, this alone would let others have a turn."""
        nonlocal turns, most
        most = max(most, turns)
        turns = 0
        if enough.is_set():
            raise LookupError

    def work() -> None:
        with pytest.raises(LookupError):
            qw.run(scenario, aqm="codel", progress=told)

    def turn() -> bool:
        nonlocal turns
        turns += 1
        # A run's words are some 50 ms apart, turns 10 ms.
        return most > 1

    thread = threading.Thread(target=work)
    thread.start()
    try:
        wait_for("two turns between two words of the run", turn)
    finally:
        enough.set()
        thread.join()


def test_progress_is_told_and_may_end_it() -> None:
    scenario = qw.Scenario.simple(rate="1gbit", rtt="20ms", flows="20xcubic", duration="5s")
    told: list[tuple[float, int, int]] = []
    qw.run(scenario, aqm="codel,pie", progress=lambda *at: told.append(at))
    assert told == sorted(told)
    assert told[-1] == (1.0, 2, 2)

    def enough(share: float, done: int, runs: int) -> None:
        raise LookupError(f"{done} of {runs}")

    with pytest.raises(LookupError, match="of 1"):
        qw.run(scenario.changed(duration="20000s"), aqm="codel", progress=enough)


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


class Full(io.StringIO):
    def write(self, _: str) -> int:
        raise OSError(28, "No space left on device")


CLOSED = io.StringIO()
CLOSED.close()


@pytest.mark.parametrize("where", [None, Full(), CLOSED], ids=["none", "full", "closed"])
def test_runs_go_on_where_no_bar_can_be_written(where: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("queuewright._progress._A_MOMENT", 0.0)
    monkeypatch.setattr(sys, "stderr", where)
    scenario = qw.Scenario.simple(rate="10mbit", rtt="20ms", flows="1xcubic", duration="1s")
    assert len(qw.run(scenario, aqm="codel", progress=True).runs) == 1


def used(pid: int) -> float:
    """What a process has used of a processor, in seconds."""
    after_name = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return int(after_name[11]) / os.sysconf("SC_CLK_TCK")


def test_ctrl_c_ends_it() -> None:
    # To its end it would be hours.
    with begun([sys.executable, "-c", LONG]) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "begun\n"
        before = used(process.pid)
        wait_for("work at the run", lambda: used(process.pid) > before + 0.3)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=PATIENCE)
    assert "KeyboardInterrupt" in err


SWEEP = """
import threading, sys
import queuewright as qw

def tell(share, done, runs):
    if done == 2:
        print("two", flush=True)

scenario = qw.Scenario.simple(rate="1mbit", rtt="20ms", flows="1xcubic", aqm="codel", warmup="0s")
over = {"run.duration": ["1s", "1s", "1000000s"], "run.sample": ["1s"]}
try:
    qw.sweep(scenario, over=over, jobs=1, progress=tell)
except KeyboardInterrupt as e:
    print(repr(e.results), len(e.results.runs), len(e.results[1].scenario.to_dict()["flows"]))
    print(len(e.results.series) > 0, e.results[0].save(sys.argv[1]).exists())
"""


def test_what_had_finished_at_ctrl_c_is_kept(tmp_path: Path) -> None:
    with begun([sys.executable, "-c", SWEEP, str(tmp_path)]) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "two\n"
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=PATIENCE)
    kept = [line for line in out.splitlines() if line != "two"]
    assert kept == ["<queuewright.Sweep of 2 over run.duration, run.sample> 2 1", "True True"], err


def test_what_had_finished_when_progress_fails_is_kept(small: qw.Scenario) -> None:
    def enough(share: float, done: int, runs: int) -> None:
        if done == 1:
            raise LookupError

    with pytest.raises(LookupError) as caught:
        qw.sweep(
            small, over={"run.duration": ["2s", "100000s"]}, aqm="codel", seeds=1, jobs=1, progress=enough
        )
    kept = caught.value.results  # type: ignore[attr-defined]
    assert kept.points == [{"run.duration": "2s"}]
    assert len(pickle.loads(pickle.dumps(kept)).runs) == 1


THREADS = """
import concurrent.futures, threading
import queuewright as qw

scenario = qw.Scenario.simple(rate="1gbit", rtt="20ms", flows="50xcubic", aqm="codel", duration="20000s")
told = threading.Barrier(3)

def make(seed):
    first = True
    def tell(*_):
        nonlocal first
        if first:
            first = False
            told.wait()
    qw.run(scenario, seeds=seed, jobs=1, progress=tell)

with concurrent.futures.ThreadPoolExecutor(2) as pool:
    made = [pool.submit(make, seed) for seed in (1, 2)]
    told.wait()
    try:
        print("begun", flush=True)
        concurrent.futures.wait(made)
    except KeyboardInterrupt:
        print("main", flush=True)
print([type(one.exception()).__name__ for one in made])
"""


def test_ctrl_c_ends_runs_in_threads() -> None:
    with begun([sys.executable, "-c", THREADS]) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "begun\n"
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=PATIENCE)
    assert out.splitlines()[-1:] == ["['KeyboardInterrupt', 'KeyboardInterrupt']"], out + err


HANDLED = """
import signal, threading
import queuewright as qw

def mine(*_):
    print("mine", flush=True)

signal.signal(signal.SIGINT, mine)
said = []
def tell(share, done, runs):
    if not said:
        said.append(share)
        print("begun", flush=True)
scenario = qw.Scenario.simple(rate="1gbit", rtt="20ms", flows="20xcubic", aqm="codel", duration="%s")
results = qw.run(scenario, progress=tell)
print(len(results.runs))
"""


def test_a_handler_of_ones_own_is_left_to_decide() -> None:
    with begun([sys.executable, "-c", HANDLED % "20s"]) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "begun\n"
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=PATIENCE)
    assert out.splitlines() == ["mine", "1"], err


CHAINED = """
import faulthandler, os, signal
import queuewright as qw

scenario = qw.Scenario.simple(rate="1gbit", rtt="20ms", flows="20xcubic", aqm="codel", duration="20s")
short = scenario.changed(duration="10ms", warmup="0s")
qw.run(short, progress=False)
faulthandler.register(signal.SIGINT, file=open(os.devnull, "w"), chain=True)
qw.run(short, progress=False)
try:
    qw.run(scenario, progress=lambda *_: os.kill(os.getpid(), signal.SIGINT))
except KeyboardInterrupt:
    print("interrupted")
"""


def test_a_handler_that_calls_the_one_before_it_is_left_where_it_is() -> None:
    done = subprocess.run([sys.executable, "-c", CHAINED], capture_output=True, text=True, timeout=PATIENCE)
    assert (done.returncode, done.stdout) == (0, "interrupted\n"), done.stderr


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
    words += ["--duration", "20000s", "--json"]
    with begun([str(program), *words], cwd=tmp_path) as process:
        # More than all before the run takes.
        wait_for("work at the run", lambda: used(process.pid) > 2)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=PATIENCE)
    assert (process.returncode, err) == (130, "error: interrupted; 0 of 1 run finished\n")


def test_commands_of_the_package_are_where_the_program_says(command: Command) -> None:
    """And help of them is at both places."""
    lines = re.sub(r"\n {8,}", " ", command("--help").stdout)
    told = re.findall(r"^ +([a-z-]+) .*\(in the Python package\)", lines, re.MULTILINE)
    assert sorted(told) == sorted(ELSEWHERE)
    for name in told:
        assert command("help", name).stdout == command(name, "--help").stdout != ""


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["tune", "--trials", "x"], "argument --trials: invalid int value: 'x'; try queuewright tune --help"),
        (["train", "--sed"], "unrecognized arguments: --sed; try queuewright train --help"),
        (["evaluate"], "the following arguments are required: POLICY; try queuewright evaluate --help"),
        (
            ["suite", "rfc7928", "--engine", "ray", "--jobs", "0"],
            "--jobs = 0: out of range; allowed: 1 to 65535",
        ),
        (
            ["suite", "rfc7928", "--engine", "ray", "--jobs", "x"],
            '--jobs = "x": not a whole number; write --jobs=2',
        ),
        (
            ["suite", "rfc7928", "--engine", "ray", "--jobs", "-5"],
            '--jobs = "-5": not a whole number; write --jobs=2',
        ),
    ],
)
def test_arguments_that_are_none_are_one_line(words: list[str], said: str, command: Command) -> None:
    done = command(*words)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", f"error: {said}\n")


@pytest.mark.parametrize("words", [["list"], ["tune", "--help"], ["train", "--help"], ["suite", "--help"]])
def test_what_is_printed_arrives_or_is_an_error(words: list[str]) -> None:
    program = str(Path(sys.executable).parent / "queuewright")
    for where, said in [("/dev/full", "No space left on device"), ("&-", "is closed")]:
        shell = f'exec "$0" "$@" >{where}'
        done = subprocess.run(["sh", "-c", shell, program, *words], capture_output=True, text=True)
        assert done.returncode == 1, (where, done.stderr)
        assert done.stderr.startswith("error: standard output"), where
        assert said in done.stderr, where
        assert done.stderr.count("\n") == 1, done.stderr
    # A reader that has seen enough.
    read, write = os.pipe()
    os.close(read)
    with os.fdopen(write, "w") as gone:
        done = subprocess.run([program, *words], stdout=gone, stderr=subprocess.PIPE, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_types_are_right(tmp_path: Path) -> None:
    sample = tmp_path / "sample.py"
    sample.write_text(
        "import queuewright as qw\n"
        's = qw.Scenario(link={"rate": "1mbit"}, flows=[{"cca": "bbr", "rtt": "9ms"}])\n'
        'r: qw.Results = qw.run(s, aqm=["codel", {"name": "pie"}], seeds=range(3), progress=print)\n'
        'column: list[object] = r.runs["seed"]\n'
        'names: list[str] = [d["name"] for d in qw.disciplines()]\n'
        's2: qw.Sweep = qw.sweep("a.toml", over={"link.rate": ["1mbit"]}, engine="ray")\n'
        'link = {"rate": "1mbit", "buffer": "2bdp"}\n'
        'flows: list[qw.keys.Flows] = [{"cbr": "1mbit", "duration": {"exponential": "2s"}, "ports": "a"}]\n'
        's3 = qw.Scenario(link=link, flows=flows, run={"seeds": range(3)})\n'
        's4 = s3.changed(rate="2mbit", aqm=["codel"], seeds=[1, 2])\n'
        "import numpy as np\n"
        "row: dict[str, object] = r.runs[np.int64(0)]\n"
        "rate: float = qw.number(np.float32(3))\n"
        "try:\n"
        "    qw.run(s4)\n"
        "except qw.RunError as e:\n"
        "    finished: qw.Results = e.results\n"
    )
    page = tmp_path / "page.py"
    page.write_text("\n".join(page_blocks()))
    wrong = tmp_path / "wrong.py"
    wrong.write_text(
        "import queuewright as qw\n"
        'link: qw.keys.Link = {"rat": "1mbit"}\n'
        'flows: qw.keys.Flows = {"voip": "g722"}\n'
        'qw.run("a.toml", sed=3)\n'
    )
    # Kept, as most of it is of other packages.
    env = {**os.environ, "MYPY_CACHE_DIR": str(ROOT / "build/mypy")}
    # stubtest keeps nothing, and the stub is of this package alone.
    alone = tmp_path / "alone.ini"
    alone.write_text("[mypy]\nfollow_imports = skip\nignore_missing_imports = true\n")
    stubtest = ["mypy.stubtest", "--mypy-config-file", str(alone), "--ignore-disjoint-bases"]
    for words in (
        ["mypy", "--strict", str(sample), str(page)],
        ["mypy", "--strict", "-p", "queuewright"],
        [*stubtest, "queuewright._native"],
    ):
        done = subprocess.run(
            [sys.executable, "-m", *words], capture_output=True, text=True, env=env, cwd=ROOT / "python/tests"
        )
        assert done.returncode == 0, done.stdout + done.stderr
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", str(wrong)],
        capture_output=True, text=True, env=env, cwd=ROOT / "python/tests",
    )  # fmt: skip
    lines = [line.split(":")[1] for line in done.stdout.splitlines() if ": error:" in line]
    assert lines == ["2", "3", "4"], done.stdout + done.stderr


def test_others_can_be_sent_what_there_is(tmp_path: Path, results: qw.Results) -> None:
    """Pickles: to processes, by multiprocessing and joblib, and through copies."""
    (tmp_path / "trace").write_text("".join(f"{ms}\n" for ms in range(1, 1000)))
    (tmp_path / "s.toml").write_text(SMALL.replace('rate = "10mbit"', 'trace = "trace"'))
    scenario = qw.load(tmp_path / "s.toml")
    pickled = pickle.dumps(scenario)
    made = qw.run(scenario, aqm=["codel", "dualpi2"], duration="2s", progress=False)
    sweep = qw.Sweep([{"link.rate": "1mbit"}, {"link.rate": "2mbit"}], [made, results])
    sent = pickle.dumps((made, sweep))
    with pytest.raises(qw.Error) as ours:
        scenario.changed({"flows.size": "1x"})
    # Where they arrive there is no such file.
    (tmp_path / "trace").unlink()
    arrived = pickle.loads(pickled)
    assert arrived == copy.deepcopy(arrived) == scenario
    assert arrived.to_toml() == scenario.to_toml()
    with pytest.raises(qw.Error) as theirs:
        arrived.changed({"flows.size": "1x"})
    assert str(theirs.value) == str(ours.value)
    made_too, sweep_too = pickle.loads(sent)
    assert made_too.to_json() == made.to_json()
    assert str(made_too) == str(made)
    assert sweep_too.points == sweep.points
    assert [one.to_json() for one in sweep_too] == [one.to_json() for one in sweep]
    for sheet in SHEETS:
        for a, b in ((made, made_too), (sweep, sweep_too)):
            table = getattr(a, sheet)
            for other in (getattr(b, sheet), copy.copy(table)):
                assert repr(other.rows()) == repr(table.rows()), sheet
                assert pyarrow_schema(other) == pyarrow_schema(table), sheet
    assert made_too._native.rewards() == made._native.rewards()
    (tmp_path / "trace").write_text("1\n")
    saved = made_too.save(tmp_path / "saved")
    assert (saved / "trace.txt").read_text().endswith("\n999\n")
    with pytest.raises(qw.Error, match=r"^trace: has changed since the scenario read it$"):
        pickle.dumps(scenario)


def pyarrow_schema(table: qw.Table) -> object:
    schema = pytest.importorskip("pyarrow").table(table).schema
    return [(field, field.metadata) for field in schema]


def test_other_processes_make_runs(small: qw.Scenario, results: qw.Results) -> None:
    halves = [small.changed(seeds=seed) for seed in (1, 2)]
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        there = pool.map(qw.run, halves)
    rows = [row for one in there for row in one.flows.rows()]
    assert sorted(rows, key=str) == sorted(results.flows.rows(), key=str)


def test_a_pickle_of_another_version_is_refused(small: qw.Scenario, results: qw.Results) -> None:
    for thing in (small, results):
        call, (version, *rest) = thing.__reduce__()
        with pytest.raises(qw.Error, match=f"^pickled by queuewright 0.0.7, and this is {version}: "):
            call("0.0.7", *rest)
