"""The process of one competitor: takes calls as JSON lines from standard input, answers on a pipe of its own.

`python -m tests.benchmarks.worker MODULE:FUNCTION FD`, started by `workers.py`; the function makes the session. Another
engine's environment runs this file too: it imports nothing else.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import traceback
from collections.abc import Callable
from typing import Any


def main() -> None:
    make_session, answers = function(sys.argv[1]), os.fdopen(int(sys.argv[2]), "w")
    session: Any = None
    for line in sys.stdin:
        request = json.loads(line)
        try:
            if "session" in request:
                session = make_session(**request["session"])
                answer: dict[str, Any] = {}
            else:
                call = function(request["call"])
                answer = call(session, request["folder"], **request["arguments"])
        except Exception:
            answer = {"error": traceback.format_exc()}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


def function(name: str) -> Callable[..., Any]:
    """The function that `module:name` means."""
    module, _, attribute = name.partition(":")
    return getattr(importlib.import_module(module), attribute)


def no_session(**settings: object) -> None:
    """For calls that need none."""


if __name__ == "__main__":
    main()
