"""How the Java of a test runs."""

import shlex
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

ONE_COMPILER = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:ReservedCodeCacheSize=256m"
"""For a JVM that runs some small jobs once each: the second compiler never pays, and neither does collecting in the
background. The room for code is that of a JVM with both compilers: with one it has 48 MB by
default, which a server fills after some twenty plans, and then answers no call any more. Spark's settings are those
that users have."""
SHORT_LIVED = f"{ONE_COMPILER} -XX:MetaspaceSize=512m -Xms1g -Xmn400m"
"""For one that runs many of them, and has the memory to itself."""


def quick_java() -> str:
    """For one of Spark's that starts often: its classes come from the archive, where there is one."""
    from cedilla.runtime.engines.spark.session import archive_options

    return shlex.join([*ONE_COMPILER.split(), *archive_options()])


def fake_java(home: Path, version: str, says_home: Path | None = None) -> Path:
    """A Java home whose `java` answers like a real one of this specification version."""
    executable = home / "bin" / "java"
    executable.parent.mkdir(parents=True)
    executable.write_text(
        "#!/bin/sh\n"
        f"echo '    java.home = {says_home or home}' >&2\n"
        f"echo '    java.specification.version = {version}' >&2\n"
    )
    executable.chmod(0o755)
    return home


def install_with(
    monkeypatch: pytest.MonkeyPatch, version: str = "17", layout: str = "", error: Exception | None = None
) -> None:
    """Put a `jdk` package in place that unpacks a fake Java, or fails."""

    class JdkError(Exception):
        pass

    def install(_version: str, path: str) -> str:
        if error is not None:
            raise error
        fake_java(Path(path) / "jdk-17" / layout, version)
        return str(Path(path) / "jdk-17")

    monkeypatch.setitem(sys.modules, "jdk", SimpleNamespace(install=install, JdkError=JdkError))
