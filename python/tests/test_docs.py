"""What docs/python.md and other pages show is what works."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT, SHEETS, page_blocks


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
