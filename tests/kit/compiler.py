"""Whether extensions in C can be compiled here."""

import shutil
import sysconfig
from pathlib import Path


def has_compiler() -> bool:
    """Returns True if there is a C compiler and Python's headers."""
    compiler = (sysconfig.get_config_var("CC") or "cc").split()[0]
    header = Path(sysconfig.get_path("include"), "Python.h")
    return shutil.which(compiler) is not None and header.exists()
