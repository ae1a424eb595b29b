"""Keeps results of long computations between processes: next to the bytecode of this package, as safe as that, or else
in a folder of the user's cache that no other user can write to."""

from __future__ import annotations

import os
import pickle
import sys
from importlib.util import cache_from_source
from pathlib import Path
from typing import Any

_MODE, _BY_OTHERS = 0o700, 0o022


def place(name: str) -> Path | None:
    """Returns a file or folder for dispensable data; `None` if none can be written."""
    if getattr(sys.implementation, "cache_tag", None) is None:
        return None
    bytecode = Path(cache_from_source(__file__))
    beside = None if sys.dont_write_bytecode or not os.access(bytecode.parent, os.W_OK) else bytecode.parent
    folder = beside or _of_user()
    version = bytecode.stem.removeprefix(f"{Path(__file__).stem}.")
    return None if folder is None else folder / f"{name}.{version}"


def read(file: Path, origin: object) -> Any:
    """Returns what `write` has kept in a file; `None` if the file is spoilt, or of another origin."""
    try:
        of, content = pickle.loads(file.read_bytes())
        return pickle.loads(content) if of == origin else None
    except (
        OSError,
        EOFError,
        ValueError,
        TypeError,
        LookupError,
        AttributeError,
        ImportError,
        pickle.PickleError,
    ):
        return None


def write(file: Path, origin: object, content: bytes) -> None:
    """Keeps a pickled object in one rename. A folder that cannot be written costs time only."""
    beside = file.with_name(f"{file.name}.{os.getpid()}")
    try:
        beside.write_bytes(pickle.dumps((origin, content)))
        beside.replace(file)
    except OSError:
        beside.unlink(missing_ok=True)


def _of_user() -> Path | None:
    """Returns a folder of the user's cache for this installation."""
    from hashlib import sha256

    from platformdirs import user_cache_path

    installation = sha256(os.fsencode(Path(__file__).parent)).hexdigest()[:16]
    try:
        folder = user_cache_path("cedilla") / installation
        if not folder.is_absolute():
            return None
        folder.mkdir(_MODE, parents=True, exist_ok=True)
        status = folder.stat()
    except (OSError, RuntimeError):  # of a home that is not there or cannot be written
        return None
    is_safe = status.st_uid == os.getuid() and not status.st_mode & _BY_OTHERS
    return folder if is_safe and os.access(folder, os.W_OK) else None
