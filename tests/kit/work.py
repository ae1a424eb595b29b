"""Work that is counted instead of timed, so that a busy machine changes no result."""

import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

from cedilla.compiler import regions


def calls(function: Callable[[], object]) -> int:
    """Returns how many Python functions a function calls, at any depth."""
    count = 0

    def note(frame: object, event: str, argument: object) -> None:
        nonlocal count
        count += event == "call"

    sys.setprofile(note)
    try:
        function()
    finally:
        sys.setprofile(None)
    return count


PACKAGE = Path(regions.__file__).parent


def operations(work: Callable[[], object]) -> int:
    """How many bytecode instructions of `compiler/regions` some work runs: no other process disturbs that."""
    count = 0

    def trace(frame: FrameType, event: str, _: object) -> Any:
        nonlocal count
        if Path(frame.f_code.co_filename).parent != PACKAGE:
            return None
        frame.f_trace_opcodes = True
        count += event == "opcode"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        work()
    finally:
        sys.settrace(before)
    return count
