"""The notebooks in docs run from the first cell to the last."""

import os
import sys
from pathlib import Path

import pytest
from conftest import PATIENCE, ROOT

nbformat = pytest.importorskip("nbformat")
nbclient = pytest.importorskip("nbclient")

NOTEBOOKS = sorted((ROOT / "docs/notebooks").glob("*.ipynb"))


def test_there_are_notebooks() -> None:
    assert {"compare", "reproduce", "train"} <= {path.stem for path in NOTEBOOKS}


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # As in an activated environment.
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert all(not cell.outputs and cell.execution_count is None for cell in code), "strip the outputs"
    nbclient.NotebookClient(
        notebook,
        timeout=PATIENCE,
        startup_timeout=PATIENCE,
        # What a cell prints may come later than its end: with less it would be left out.
        iopub_timeout=PATIENCE,
        kernel_name="python3",
        resources={"metadata": {"path": str(tmp_path)}},
    ).execute()
    shown = [cell for cell in code if cell.outputs]
    assert len(shown) >= len(code) // 2
    pictures = [["image/png" in o.get("data", {}) for o in cell.outputs] for cell in code]
    assert max(map(sum, pictures)) == 1, "a picture is shown once"
    said = "".join(o.get("text", "") for cell in code for o in cell.outputs if o.get("name") == "stderr")
    assert "Error" not in said, said
