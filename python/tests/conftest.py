import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

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


def without_clock(text: str) -> str:
    """Results but for what differs from one call to the next: wall-clock time."""
    return re.sub(r'"(wall_s|packets_per_s)": [0-9.e+-]+', r'"\1": 0', text)


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
