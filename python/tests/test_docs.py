"""What docs/python.md shows is what works."""

import re
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT


def test_the_page_s_examples_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for needed in ("polars", "gymnasium", "matplotlib"):
        pytest.importorskip(needed)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    page = (ROOT / "docs/python.md").read_text()
    # A cluster has tests of its own, and a prompt shows an error.
    blocks = [b for b in re.findall(r"```python\n(.*?)```", page, re.S) if "ray" not in b and ">>>" not in b]
    assert len(blocks) == 3
    names: dict[str, Any] = {}
    for block in blocks:
        exec(block, names)
    assert len(names["sweep"]) == 3
