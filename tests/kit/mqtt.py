"""A broker of MQTT on this machine: mosquitto, of the system or from packages of Debian, which need no rights."""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from attrs import define, field
from paho.mqtt import publish

from tests.kit import ROOT

HOME = ROOT / "build" / "mosquitto"
USER, PASSWORD = "bridge", "öffne"
_SECONDS = 60.0
_CONFIG = """listener {port} 127.0.0.1
allow_anonymous false
password_file {folder}/passwords
persistence true
persistence_location {folder}/
{user}"""


def install() -> Path:
    """The folder of the packages, or the root if the system has a mosquitto. Raises `OSError` where it has none, and no
    package can be had."""
    if shutil.which("mosquitto") and shutil.which("mosquitto_passwd"):
        return Path("/")
    HOME.mkdir(parents=True, exist_ok=True)
    with (HOME / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # tests run in several processes
        if not (HOME / "root").exists():
            try:
                _unpack(HOME)
            except (subprocess.SubprocessError, FileNotFoundError) as problem:
                raise OSError(f"mosquitto cannot be had from packages: {problem}") from None
    return HOME / "root"


def _unpack(home: Path) -> None:
    """Downloads mosquitto, and what it needs and the system lacks. Lists of packages have a place of their own."""
    for folder in ("lists/partial", "debs", "_root"):
        (home / folder).mkdir(parents=True, exist_ok=True)
    own = ["-o", f"Dir::State::lists={home}/lists", "-o", "Debug::NoLocking=1", "-o", "APT::Sandbox::User="]

    def apt(*words: str, **more: str) -> str:
        done = subprocess.run(
            ["apt-get", *own, *words],
            check=True,
            capture_output=True,
            text=True,
            timeout=120,
            cwd=home / "debs",
        )
        return done.stdout

    apt("update")
    uris = apt("install", "--yes", "--print-uris", "--no-install-recommends", "mosquitto")
    apt("download", *re.findall(r"^'\S+' ([^_\s]+)_", uris, re.MULTILINE))
    for package in (home / "debs").glob("*.deb"):
        subprocess.run(["dpkg-deb", "-x", package, home / "_root"], check=True)
    (home / "_root").rename(home / "root")


@define(eq=False)
class Mosquitto:
    """A broker that can be stopped and started again with what it has."""

    folder: Path
    port: int = field(default=0)
    _process: subprocess.Popen[bytes] | None = None

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    def start(self) -> None:
        if not self.port:
            with socket.socket() as free:
                free.bind(("127.0.0.1", 0))
                self.port = int(free.getsockname()[1])
            user = "user root\n" if os.getuid() == 0 else ""
            (self.folder / "config").write_text(_CONFIG.format(port=self.port, folder=self.folder, user=user))
            words = ("-b", "-c", str(self.folder / "passwords"), USER, PASSWORD)
            subprocess.run(
                self._command("usr/bin/mosquitto_passwd", *words), check=True, env=self._environment
            )
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                self._command("usr/sbin/mosquitto", "-c", str(self.folder / "config")),
                stdout=log,
                stderr=subprocess.STDOUT,
                env=self._environment,
            )
        end = time.monotonic() + _SECONDS
        while time.monotonic() < end:
            assert self._process.poll() is None, (self.folder / "log").read_text()
            with suppress(OSError):
                socket.create_connection(("127.0.0.1", self.port), 1).close()
                return
            time.sleep(0.02)
        raise AssertionError((self.folder / "log").read_text())

    @property
    def _environment(self) -> dict[str, str]:
        libraries = (
            {str(path.parent) for path in install().glob("usr/lib/**/*.so.*")}
            if install() != Path("/")
            else ()
        )
        return {**os.environ, "LD_LIBRARY_PATH": ":".join(sorted(libraries))}

    def _command(self, program: str, *words: str) -> list[str]:
        return [str(install() / program), *words]

    def stop(self) -> None:
        """Ends it; it then writes its sessions."""
        if self._process is not None:
            self._process.terminate()
            self._process.wait(20)

    def send(self, topic: str, message: str, qos: int = 1, retain: bool = False) -> None:
        """Sends a message, and waits until the broker has it."""
        publish.single(
            topic,
            message,
            qos,
            retain,
            "127.0.0.1",
            self.port,
            auth={"username": USER, "password": PASSWORD},
        )


@contextmanager
def broker(folder: Path) -> Iterator[Mosquitto]:
    """A new broker, which ends with the context."""
    started = Mosquitto(folder)
    started.start()
    try:
        yield started
    finally:
        started.stop()
