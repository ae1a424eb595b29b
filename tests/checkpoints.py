"""Documents of checkpoints as tests change them."""

from __future__ import annotations

import json
from typing import Any


def unsealed(text: str) -> dict[str, Any]:
    """The content of a document without its seal, as earlier versions wrote it."""
    content: dict[str, Any] = json.loads(text)
    del content["$sealed"]
    return content
