"""Work that is counted instead of timed, so that a busy machine changes no result."""

import sys
from collections.abc import Callable


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
