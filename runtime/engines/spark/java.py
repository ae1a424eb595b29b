"""Finds the Java that Spark needs, or installs one into a local folder.

`python -m cedilla.runtime.engines.spark.java` prints the Java home that would be used; `--install FOLDER` first
installs one there if none is found. This file does not import pyspark.
"""

import argparse
import importlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path

MINIMUM = 17
"""The oldest Java that Spark 4 runs on, and the version that is installed if Java is missing."""

_BY_HAND = f"install Java {MINIMUM} or newer by hand and set JAVA_HOME"
_INSTALLING = (
    "set JAVA_HOME, or install Java into a local folder:\n"
    "        pip install 'cedilla[java]' && python -m cedilla.runtime.engines.spark.java --install .java"
)


class JavaMissing(Exception):
    """No Java of version 17 or newer was found, or installing one failed. `help`: the remedy."""

    def __init__(self, message: str, help: str) -> None:
        super().__init__(f"{message}\n  help: {help}")
        self.message = message


def java_version(home: Path) -> int | None:
    """Returns the feature version (8, 11, 17, ...) of the Java in `home`; `None` if no Java runs there."""
    executable = shutil.which("java", path=str(home / "bin"))
    return _version(_settings(executable)) if executable else None


def find_java() -> Path | None:
    """Returns the home of the first Java >= 17 among JAVA_HOME, `java` on PATH and the local folder."""
    return next((home for _, home, version in _candidates() if _fits(version)), None)


def ensure() -> Path:
    """Returns the home of a suitable Java and exports it as JAVA_HOME for Spark's launcher. Raises `JavaMissing`."""
    home = find_java()
    if home is None:
        raise JavaMissing(_looked_at(), _INSTALLING)
    os.environ["JAVA_HOME"] = str(home)
    return home


def install_java(folder: Path) -> Path:
    """Downloads Java 17 into `folder` with the `install-jdk` package and returns its home.

    It is unpacked in a temporary folder and renamed, so an interrupted download is never used as a Java.
    """
    try:
        jdk = importlib.import_module("jdk")
    except ImportError:
        raise JavaMissing(
            "installing Java requires the package install-jdk", "pip install 'cedilla[java]'"
        ) from None
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".incomplete-", dir=folder) as scratch:
        try:
            unpacked = Path(jdk.install(str(MINIMUM), path=scratch))
        except (OSError, jdk.JdkError) as error:
            raise JavaMissing(f"Java {MINIMUM} could not be downloaded: {error}", _BY_HAND) from error
        target = folder / unpacked.name
        if target.exists():
            shutil.rmtree(target)
        unpacked.rename(target)
    home = next((home for home in _homes(target) if _fits(java_version(home))), None)
    if home is None:
        raise JavaMissing(f"the Java installed in {target} does not run", _BY_HAND)
    return home


def _candidates() -> Iterator[tuple[str, Path | None, int | None]]:
    """Yields every candidate: its name, the Java home found there and that Java's version."""
    configured = os.environ.get("JAVA_HOME")
    if configured:
        home = Path(configured)
        yield f"JAVA_HOME ({configured})", home, java_version(home)
    else:
        yield "JAVA_HOME (not set)", None, None
    on_path = shutil.which("java")
    settings = _settings(on_path) if on_path else {}
    reported = settings.get("java.home")  # a `java` on PATH is often a link or a wrapper: ask it for its home
    yield "java on PATH", Path(reported) if reported else None, _version(settings)
    local = Path(os.environ.get("CEDILLA_JAVA_DIR") or ".java").absolute()
    homes = [home for child in _children(local) for home in _homes(child)]
    if not homes:
        yield f"the local folder {local}", None, None
    for home in homes:
        yield f"the local folder {local}", home, java_version(home)


def _children(folder: Path) -> list[Path]:
    if not folder.is_dir():
        return []
    return [folder, *sorted(child for child in folder.iterdir() if not child.name.startswith("."))]


def _homes(folder: Path) -> list[Path]:
    """Returns the Java homes inside an unpacked JDK: the folder itself, or Contents/Home on macOS."""
    return [home for home in (folder, folder / "Contents" / "Home") if (home / "bin").is_dir()]


@cache
def _settings(executable: str) -> dict[str, str]:
    """Returns the properties that a `java` prints, such as `java.home`; empty if it does not run."""
    command = [executable, "-XshowSettings:properties", "-version"]
    try:
        answer = subprocess.run(
            command, capture_output=True, text=True, errors="replace", timeout=60, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return {}
    return dict(re.findall(r"^\s*(java\.[\w.]+) = (.+?)\s*$", answer.stderr + answer.stdout, re.MULTILINE))


def _version(settings: Mapping[str, str]) -> int | None:
    match = re.match(r"(?:1\.)?(\d+)", settings.get("java.specification.version", ""))
    return int(match[1]) if match else None


def _fits(version: int | None) -> bool:
    return version is not None and version >= MINIMUM


def _looked_at() -> str:
    places = "\n".join(
        f"  {home}: {'no Java that runs' if version is None else f'Java {version}'}"
        for home, _, version in _candidates()
    )
    return f"Spark requires Java {MINIMUM} or newer, and none was found\n{places}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Prints the Java home that Spark will use, after installing one if requested. Returns 1 without one."""
    parser = argparse.ArgumentParser(
        prog="python -m cedilla.runtime.engines.spark.java", description=main.__doc__
    )
    parser.add_argument("--install", metavar="FOLDER", type=Path, help="install Java here if none is found")
    options = parser.parse_args(arguments)
    try:
        home = find_java()
        if home is None and options.install is not None:
            home = install_java(options.install)
        print(home or ensure())
    except JavaMissing as missing:
        print(f"error: {missing}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
