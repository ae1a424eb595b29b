"""Notebooks run, from the first cell to the last."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

ROOT = Path(__file__).parents[2]
NOTEBOOKS = sorted((ROOT / "queries").rglob("*.ipynb"))


@pytest.mark.rest
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.name)
def test_a_notebook_runs(path: Path, tmp_path: Path) -> None:
    notebook: Any = nbformat.read(path, 4)
    NotebookClient(
        notebook, timeout=120, kernel_name="python3", resources={"metadata": {"path": str(tmp_path)}}
    ).execute()
    shown = [output for cell in notebook.cells for output in cell.get("outputs", ())]
    texts = [output["data"].get("text/plain", "") for output in shown if "data" in output]
    assert any("<svg" in output["data"].get("text/html", "") for output in shown if "data" in output)
    assert any("image/png" in output["data"] for output in shown if "data" in output)
    assert "True" in texts
    assert "{'per_minute': 4, 'pumps': 480}" in texts
    assert not any(output["output_type"] == "error" for output in shown)
