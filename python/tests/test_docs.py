"""What docs/python.md and other pages show is what works."""

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT, SHEETS, SMALL, page_blocks

import queuewright as qw


def test_the_page_s_examples_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for needed in ("polars", "gymnasium", "matplotlib"):
        pytest.importorskip(needed)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    names: dict[str, Any] = {}
    for block in page_blocks():
        exec(block, names)
    assert len(names["sweep"]) == 3


def test_the_page_names_every_table() -> None:
    page = (ROOT / "docs/python.md").read_text()
    assert [name for name in SHEETS if f"| `results.{name}` |" not in page] == []


def test_the_page_of_names_is_that_of_the_sources() -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "scripts/python-api", "--check"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


def test_the_page_shows_the_error_that_there_is() -> None:
    page = (ROOT / "docs/python.md").read_text()
    shown = re.findall(r"```python\n>>> (.*)\n(.*)\n```", page)
    assert shown
    for code, said in shown:
        with pytest.raises(qw.Error) as told:
            eval(code, {"qw": qw})
        assert f"queuewright.Error: {told.value}" == said


def scenarios(page: str) -> list[str]:
    """The parts of scenario files that a page shows, each with what it lacks."""
    found = []
    for text in re.findall(r"```toml\n(.*?)```", (ROOT / page).read_text(), re.S):
        if text.startswith("disciplines = "):
            text = "[queue]\n" + text
        if re.match(r"\[(link|queue)\]|\[\[(flows|ports)\]\]\s|name = ", text):
            text = text if re.search(r"^\[(link|shared)\]|^\[\[ports\]\]", text, re.M) else LINK + text
            text = text if "[[flows]]" in text else text + FLOWS
            text = text if "[queue]" in text else text + '[queue]\ndisciplines = ["droptail"]\n'
            text = text if "[run]" in text else text + RUN
            found.append(text)
    return found


LINK = '[link]\nrate = "100mbit"\nbuffer = "2bdp"\n'
FLOWS = '[[flows]]\ncca = "cubic"\nrtt = "20ms"\n'
RUN = '[run]\nduration = "30s"\n'


@pytest.mark.parametrize(
    ("page", "count"),
    [("README.md", 1), ("docs/scenario.md", 8), ("docs/quic.md", 1)],
    ids=lambda at: str(at),
)
def test_a_page_s_scenarios_are_right(page: str, count: int) -> None:
    found = scenarios(page)
    assert len(found) == count
    for text in found:
        assert qw.Scenario.from_toml(text).to_dict()["hash"]


def test_the_page_s_training_is_right(tmp_path: Path) -> None:
    pytest.importorskip("gymnasium")
    pytest.importorskip("msgspec")
    from queuewright import learn

    (tmp_path / "home.toml").write_text(LINK + FLOWS + '[queue]\ndisciplines = ["queuepilot"]\n' + RUN)
    (shown,) = re.findall(r"```toml\n(.*?)```", (ROOT / "docs/training.md").read_text(), re.S)
    (tmp_path / "mine.toml").write_text(shown)
    assert learn.read(tmp_path / "mine.toml").name == "mine"


def test_the_page_of_results_reads_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pandas")
    monkeypatch.chdir(tmp_path)
    qw.run(qw.Scenario.from_toml(SMALL), progress=False).save()
    (block,) = re.findall(r"```python\n(.*?)```", (ROOT / "docs/results.md").read_text(), re.S)
    exec(block, {})


def test_pages_compare_what_can_be_compared(tmp_path: Path) -> None:
    shown = []
    for page in ("docs/scenario.md", "docs/disciplines/chen-sfq.md"):
        text = (ROOT / page).read_text().replace("\\\n", " ")
        shown += re.findall(r"```sh\nqueuewright (compare .*)\n```", text)
    assert len(shown) == 2
    for words in shown:
        # The link and its flows stand for it, for a moment.
        words = re.sub(r" --(duration|warmup|seeds) \S+", "", words)
        done = subprocess.run(
            [Path(sys.executable).with_name("queuewright"), *words.split(), "--duration", "100ms"],
            capture_output=True, text=True, cwd=tmp_path,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
