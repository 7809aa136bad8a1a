import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import queuewright as qw

ROOT = Path(__file__).resolve().parents[2]

SMALL = """
name = "small"
[link]
rate = "10mbit"
buffer = "2bdp"
[[flows]]
count = 3
cca = "cubic"
rtt = "20ms..40ms"
[[flows]]
cca = "cubic"
rtt = "20ms"
size = "100kb"
[[flows]]
cbr = "500kbit"
[queue]
disciplines = ["droptail", "codel"]
[run]
duration = "3s"
warmup = "1s"
seeds = [1, 2]
"""


# The tables of results.
SHEETS = [
    name
    for name, of in vars(qw.Results).items()
    if isinstance(of, property) and of.fget is not None and of.fget.__annotations__["return"] is qw.Table
]


def page_blocks() -> list[str]:
    """The examples of docs/python.md; a cluster has tests of its own, and a prompt shows an error."""
    page = (ROOT / "docs/python.md").read_text()
    blocks: list[str] = re.findall(r"```python\n(.*?)```", page, re.S)
    found = [block for block in blocks if "ray" not in block and ">>>" not in block]
    assert len(found) == 3
    return found


def without_clock(text: str) -> str:
    """Results but for what differs from one call to the next: wall-clock time."""
    return re.sub(r'"(wall_s|packets_per_s)": [0-9.e+-]+', r'"\1": 0', text)


# Seconds that a state may take to come on the slowest machine.
PATIENCE = 300


def wait_for(what: str, there: Callable[[], bool]) -> None:
    """Waits for a state, never for a time."""
    begun = time.monotonic()
    while not there():
        assert time.monotonic() - begun < PATIENCE, f"waited {PATIENCE} s for {what}"
        time.sleep(0.01)


def pytest_configure(config: pytest.Config) -> None:
    """Tests hear Ctrl-C, and what they begin does: a shell has what it begins behind `&` ignore it.

    What JAX compiles for one test it has for the next: a third of the time of those that train.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    # Processes that share the tests have it from the first one.
    if not hasattr(config, "workerinput"):
        compiled = tempfile.TemporaryDirectory(prefix="queuewright-jax-")
        config.add_cleanup(compiled.cleanup)
        os.environ["JAX_COMPILATION_CACHE_DIR"] = compiled.name
        os.environ["JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"] = "0"
        os.environ["JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES"] = "-1"


@contextmanager
def begun(words: list[str], **options: Any) -> Iterator["subprocess.Popen[str]"]:
    """A program, which does not outlive the test."""
    with subprocess.Popen(
        words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options
    ) as process:
        try:
            yield process
        finally:
            process.kill()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    left_out(report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    report = yield
    left_out(report)
    return report


def left_out(report: "pytest.TestReport | pytest.CollectReport") -> None:
    """A line in the file of what `make test` left out, as scripts/test says."""
    path = os.environ.get("QUEUEWRIGHT_LEFT_OUT")
    if path and report.skipped and isinstance(report.longrepr, tuple):
        why = report.longrepr[2].removeprefix("Skipped: ").replace("\n", " ")
        with Path(path).open("a") as file:
            file.write(f"setup\t{report.nodeid}\t{why}\n")


Command = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture(scope="session")
def small_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("scenario") / "small.toml"
    path.write_text(SMALL)
    return path


@pytest.fixture(scope="session")
def small(small_file: Path) -> qw.Scenario:
    return qw.load(small_file)


@pytest.fixture(scope="session")
def results(small: qw.Scenario) -> qw.Results:
    return qw.run(small, progress=False)


@pytest.fixture(scope="session")
def command() -> Command:
    """The command that was installed with the package."""
    program = Path(sys.executable).parent / "queuewright"
    assert program.exists() or shutil.which("queuewright"), "the command is not installed"

    def call(*args: object, **options: object) -> "subprocess.CompletedProcess[str]":
        words = [str(program if program.exists() else "queuewright"), *map(str, args)]
        return subprocess.run(words, capture_output=True, text=True, check=False, **options)  # type: ignore[call-overload, no-any-return]

    return call
