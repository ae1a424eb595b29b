"""A query's file and the program that it compiles to, run in this process or in another."""

from __future__ import annotations

import os
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

from cedilla.runtime.hosts.cli.main import main
from tests.kit import ROOT


def in_this_process(query: Path, code: Path, root: Path) -> None:
    """`cedilla run` of a query, then the program that it compiles to."""
    with pytest.raises(SystemExit) as ended:
        main(["run", str(query), "--once", "--checkpoint", str(root / "first"), "--allow-module", "cents"])
    assert not ended.value.code
    arguments = [str(code), "--sink", f"cents={root}/out2", "--once", "--checkpoint", str(root / "second")]
    arguments += ["--allow-module", "cents"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", arguments)
        with pytest.raises(SystemExit) as ended:
            runpy.run_path(str(code), run_name="__main__")
    assert not ended.value.code


def in_one_of_its_own(query: Path, code: Path, root: Path) -> None:
    """The same where there is no session yet, both with one Java."""
    both = f"""
from pathlib import Path
from tests.runtime.connectors.formats.program_runs import in_this_process
in_this_process(Path({str(query)!r}), Path({str(code)!r}), Path({str(root)!r}))
"""
    done = subprocess.run(
        [sys.executable, "-c", both],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert done.returncode == 0, done.stderr
