"""A query's file and the program that it compiles to, run in this process or in another."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

import pytest

from cedilla.runtime.cli.main import main


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
