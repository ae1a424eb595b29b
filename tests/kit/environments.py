"""Other Pythons than that of the tests: environments with nothing, or with some packages of this one."""

from __future__ import annotations

import sysconfig
import venv
from pathlib import Path


def environment(folder: Path, *packages: str) -> Path:
    """The Python of a new environment that has packages of this one, by the names of their folders."""
    venv.create(folder, with_pip=False)
    here = Path(sysconfig.get_path("purelib"))
    (target,) = (folder / "lib").glob("python*/site-packages")
    for name in packages:
        (target / name).symlink_to(here / name)
    return folder / "bin" / "python"
