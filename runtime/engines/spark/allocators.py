"""Lets a process keep memory that it gives back, because it takes as much again for the next block of a file or of
records. The kernel clears each page that it hands out, which took up to a quarter of a run on Sail, and two fifths of
fetching records."""

from __future__ import annotations

import ctypes
import platform

_SETTINGS = {
    -1: 1 << 30,  # M_TRIM_THRESHOLD: bytes at the end of the heap that are kept
    -2: 16 << 20,  # M_TOP_PAD: bytes that are taken together
    -3: 32 << 20,  # M_MMAP_THRESHOLD: shorter blocks come from the heap; more than this is refused
    -8: 2,  # M_ARENA_MAX: heaps; with one for each thread the process would keep much more
}
"""Parameters of `mallopt` as malloc.h of glibc numbers them."""


def keep_memory() -> None:
    """Sets the allocator of this process, if it is that of glibc."""
    if platform.libc_ver()[0] == "glibc":
        library = ctypes.CDLL(None)
        for parameter, value in _SETTINGS.items():
            library.mallopt(parameter, value)
