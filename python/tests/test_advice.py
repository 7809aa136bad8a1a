"""What is said where a library is missing: which one, and what to install, which then brings it."""

import re
import subprocess
import sys

import pytest
from conftest import ROOT

# Nobody finds the library that is named last.
WITHOUT = """
import sys
class Without:
    gone = sys.argv[1]
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == self.gone:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Without())
"""
LEARN = "from queuewright import learn; "
COMMAND = (
    "sys.argv = ['queuewright', 'train', 'x.toml']; from queuewright.__main__ import main; sys.exit(main())"
)
TUNE = COMMAND.replace("'train', 'x.toml'", "'tune', 'home', '--aqm', 'codel'")
CLUSTER = "from queuewright._ray import Cluster; Cluster()"
TABLE = (
    "import queuewright as qw; "
    "r = qw.compare(qw.Scenario.simple(rate='1mbit', rtt='10ms', flows='1xcubic'), 'codel', seeds=1, "
    "duration='100ms', progress=False); "
)
# What is gone, what is asked for, the exit code of Python's, and what is said last.
MISSING = [
    ("gymnasium", COMMAND, 2, r"^error: learned policies need gymnasium: (.*)$"),
    ("msgspec", COMMAND, 2, r"^error: learned policies need msgspec: (.*)$"),
    ("numpy", COMMAND, 2, r"^error: learned policies need numpy: (.*)$"),
    ("msgspec", LEARN, 1, r"^ImportError: learned policies need msgspec: (.*)$"),
    ("gymnasium", "import queuewright.envs", 1, r"^ImportError: environments need gymnasium: (.*)$"),
    ("numpy", "import queuewright.envs", 1, r"^ImportError: environments need numpy: (.*)$"),
    ("jax", LEARN + "learn._needs_jax()", 1, r"^ImportError: training needs jax: (.*)$"),
    ("optax", LEARN + "learn._needs_jax()", 1, r"^ImportError: training needs optax: (.*)$"),
    ("optuna", TUNE, 2, r"^error: tuning needs optuna: (.*)$"),
    ("scipy", TUNE, 2, r"^error: tuning needs scipy: (.*)$"),
    ("numpy", TUNE, 2, r"^error: tuning needs numpy: (.*)$"),
    ("ray", CLUSTER, 1, r'^ImportError: engine = "ray" needs ray: (.*)$'),
    ("matplotlib", TABLE + "r.plot()", 1, r"^ImportError: plots need matplotlib: (.*)$"),
    ("polars", TABLE + "r.runs.to_polars()", 1, r"^ImportError: this needs polars: (.*)$"),
    ("pandas", TABLE + "r.runs.to_pandas()", 1, r"^ImportError: this needs pandas: (.*)$"),
    ("pyarrow", TABLE + "r.runs.to_pandas()", 1, r"^ImportError: this needs pyarrow: (.*)$"),
]
# What has to be there for that to be what is missing.
BESIDE = {
    COMMAND: ["gymnasium", "msgspec", "numpy"],
    TUNE: ["numpy", "optuna", "scipy"],
    LEARN: ["gymnasium", "numpy"],
    "import queuewright.envs": ["gymnasium", "numpy"],
    LEARN + "learn._needs_jax()": ["gymnasium", "msgspec", "jax", "optax"],
    TABLE + "r.runs.to_pandas()": ["pandas"],
}


def extras() -> dict[str, list[str]]:
    """The names of what pyproject.toml's extras bring."""
    text = (ROOT / "pyproject.toml").read_text()
    table = text.split("[project.optional-dependencies]\n")[1].split("\n[")[0]
    lists = re.findall(r"^(\w+) = \[(.*?)\]$", table, re.MULTILINE | re.DOTALL)
    return {name: re.findall(r'"([A-Za-z0-9_-]+)', content) for name, content in lists}


def brings(advice: str) -> list[str]:
    """What `pip install` of these words brings: an extra of this package, or packages that are in one."""
    assert advice.startswith("pip install "), advice
    words = advice.removeprefix("pip install ")
    known = extras()
    if extra := re.fullmatch(r"'(?:\.|queuewright)\[(\w+)\]'", words):
        return known[extra[1]]
    assert set(words.split()) <= {name for names in known.values() for name in names}, words
    return words.split()


@pytest.mark.parametrize(("gone", "code", "rc", "said"), MISSING)
def test_what_is_missing_is_said_and_what_to_install_brings_it(
    gone: str, code: str, rc: int, said: str
) -> None:
    for name in BESIDE.get(code, []):
        if name != gone:
            pytest.importorskip(name)
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT + code, gone], capture_output=True, text=True, check=False
    )
    lines = done.stderr.splitlines()
    assert done.returncode == rc, done.stderr
    advice = re.match(said, lines[-1])
    assert advice, done.stderr
    assert gone in brings(advice[1])
    if rc == 2:
        assert len(lines) == 1, done.stderr


@pytest.mark.parametrize("name", ["train", "evaluate", "export-policy", "tune", "suite"])
def test_help_needs_no_library(name: str) -> None:
    code = COMMAND.replace("'train', 'x.toml'", f"{name!r}, '--help'")
    for gone in ("numpy", "msgspec", "gymnasium", "optuna", "scipy", "jax", "ray"):
        done = subprocess.run(
            [sys.executable, "-c", WITHOUT + code, gone], capture_output=True, text=True, check=False
        )
        assert (done.returncode, done.stderr) == (0, ""), gone
        assert done.stdout.lower().startswith("usage") or "Usage:" in done.stdout


def test_every_advice_can_be_followed() -> None:
    files = [*(ROOT / "python/queuewright").rglob("*.py"), *(ROOT / "crates").glob("*/src/**/*.rs")]
    # A name in braces is filled in; where, has a case above.
    advice = re.compile(r"pip install ('[^']*'|[a-z0-9 ]+)(?=[\"`)']|$)", re.MULTILINE)
    found = {match[1] for file in files for match in advice.finditer(file.read_text())}
    assert {f"'queuewright[{extra}]'" for extra in ("gym", "train", "tune", "ray", "plot")} <= found
    for words in found:
        assert brings(f"pip install {words}"), words
