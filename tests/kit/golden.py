"""Golden files: blocks of a line `directive args`, input, `----`, expected, `====`.

Empty lines and lines that start with `##` may precede a block. `REGENERATE=1 pytest` writes the answers of the
code into the files, to be reviewed as a diff.
"""

import os
from collections.abc import Callable
from pathlib import Path


def check(path: Path, run: Callable[[str, str], str]) -> None:
    """Compare `run(directive line, input)` with what the file expects, block by block."""
    blocks = path.read_text(encoding="utf-8").split("====\n")
    if os.environ.get("REGENERATE"):
        path.write_text("====\n".join(_now(block, run) for block in blocks), encoding="utf-8")
        return
    for block in blocks:
        assert block == _now(block, run), f"{path} (REGENERATE=1 rewrites it)"


def _now(block: str, run: Callable[[str, str], str]) -> str:
    if not block.strip():
        return block
    head, mark, _ = block.partition("----\n")
    assert mark, f"a block without `----`:\n{block}"
    lines = head.splitlines()
    first = next(number for number, line in enumerate(lines) if line and not line.startswith("##"))
    return head + mark + run(lines[first], "\n".join(lines[first + 1 :])).rstrip() + "\n"
