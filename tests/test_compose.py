"""The example for Docker, without Docker: the commands of its `compose.yaml` as processes of this machine."""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time
import tomllib
import zipfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.kit import ROOT
from tests.kit.kafka import Broker

FOLDER = ROOT / "queries" / "compose"
SERVICES: dict[str, Any] = yaml.safe_load((FOLDER / "compose.yaml").read_text("utf-8"))["services"]
OWN = [name for name in SERVICES if name != "broker"]
TRUTH = (130.0, 150.0)
"""The least and the greatest average of both pumps that `producer.py` makes, in litres."""


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


@contextmanager
def started(command: list[str], log: Path, environment: dict[str, str]) -> Iterator[subprocess.Popen[bytes]]:
    """A process in the folder of the repository; it is ended with the context."""
    with log.open("wb") as file:
        process = subprocess.Popen(
            command, cwd=ROOT, stdout=file, stderr=subprocess.STDOUT, env={**os.environ, **environment}
        )
    try:
        yield process
    finally:
        process.terminate()
        with suppress(subprocess.TimeoutExpired):
            process.wait(20)
        process.kill()
        process.wait()


def answer(port: int, path: str) -> tuple[int, str]:
    """The status and the text of a page; 0 if no one answers yet."""
    connection = HTTPConnection("127.0.0.1", port, timeout=10)
    try:
        connection.request("GET", path, headers={"Host": f"localhost:{port}"})
        response = connection.getresponse()
        return response.status, response.read().decode()
    except OSError:
        return 0, ""
    finally:
        connection.close()


@pytest.mark.rest
def test_the_right_line_stays_and_the_wrong_one_falls(kafka: Broker, tmp_path: Path) -> None:
    ports = {name: free_port() for name in ("query", "lines")}
    python = Path(sys.executable)
    addresses = {
        "broker:9092": kafka.address,
        "0.0.0.0:8265": f"0.0.0.0:{ports['query']}",
        "0.0.0.0:8080": f"0.0.0.0:{ports['lines']}",
        "/data/checkpoint": str(tmp_path / "checkpoint"),
    }

    def command(name: str) -> list[str]:
        words = [str(word) for word in SERVICES[name]["command"]]
        for address, here in addresses.items():
            words = [word.replace(address, here) for word in words]
        if name == "producer":
            words[words.index("--change") + 1] = "6"  # 30 seconds on the page
        return [str(python if words[0] == "python" else python.with_name(words[0])), *words[1:]]

    subprocess.run(command("topics"), cwd=ROOT, check=True)
    with ExitStack() as stack:
        processes = {
            name: stack.enter_context(
                started(command(name), tmp_path / f"{name}.log", SERVICES[name].get("environment", {}))
            )
            for name in OWN
            if name != "topics"
        }
        end = time.monotonic() + 180
        windows: list[dict[str, float]] = []
        while sum(abs(w["wrong"] - w["right"]) > 10 for w in windows) < 3:
            for name, process in processes.items():
                assert process.poll() is None, (tmp_path / f"{name}.log").read_text()
            assert time.monotonic() < end, [path.read_text() for path in tmp_path.glob("*.log")]
            time.sleep(0.5)
            status, text = answer(ports["lines"], "/lines.json")
            windows = json.loads(text)["windows"] if status == 200 else []
        assert [w for w in windows if not TRUTH[0] <= w["right"] <= TRUTH[1]] == []
        assert min(w["wrong"] for w in windows) < 100
        assert "two lines" in answer(ports["lines"], "/")[1].lower()
        assert answer(ports["query"], "/")[0] == 403
        token = SERVICES["query"]["environment"]["CEDILLA_UI_TOKEN"]
        assert f"/?token={token}" in (FOLDER / "lines.html").read_text("utf-8")
        assert answer(ports["query"], f"/?token={token}")[0] == 307


def test_ports_are_open_to_this_machine_only() -> None:
    ports = [port for service in SERVICES.values() for port in service.get("ports", [])]
    assert ports
    assert [port for port in ports if not port.startswith("127.0.0.1:")] == []


def test_what_a_service_waits_for_exists() -> None:
    assert {name for service in SERVICES.values() for name in service.get("depends_on", [])} <= set(SERVICES)


def copied() -> list[str]:
    """The files and folders that the image copies."""
    text = (FOLDER / "Dockerfile").read_text("utf-8")
    return [name for line in re.findall(r"^COPY (.*) \S+$", text, re.MULTILINE) for name in line.split()]


def test_the_image_copies_files_that_exist_and_that_are_not_ignored() -> None:
    ignored = (FOLDER / "Dockerfile.dockerignore").read_text("utf-8").splitlines()
    kept = [line[1:] for line in ignored if line.startswith("!")]
    assert copied()
    assert [name for name in copied() if not (ROOT / name).exists()] == []
    assert [name for name in copied() if not any(f"{name}/".startswith(f"{k}/") for k in kept)] == []
    for build in (SERVICES[name]["build"] for name in OWN):
        assert (FOLDER / build["context"] / build["dockerfile"]).samefile(FOLDER / "Dockerfile")


@pytest.mark.soak
def test_what_the_image_copies_is_enough_to_build_the_package(tmp_path: Path) -> None:
    """By pip, which gets setuptools from its registry."""
    for name in copied():
        source, target = ROOT / name, tmp_path / "image" / name
        if source.is_dir():
            unwanted = shutil.ignore_patterns("__pycache__")
            shutil.copytree(source, target, symlinks=True, ignore=unwanted, dirs_exist_ok=True)
        else:
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, target)
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", tmp_path, "."]
    subprocess.run(command, cwd=tmp_path / "image", check=True)
    (wheel,) = tmp_path.glob("*.whl")
    names = set(zipfile.ZipFile(wheel).namelist())
    assert {
        "cedilla/produce.py",
        "cedilla/grammar/rq.lark",
        "cedilla/docs/markers.md",
        "cedilla/docs/reference/errors.md",
        "cedilla/runtime/hosts/ui/page/page.html",
    } <= names


def test_the_image_installs_the_extras_as_the_project_names_them() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    lines = (FOLDER / "requirements.txt").read_text("utf-8").splitlines()
    own = [line for line in lines if not line.startswith(("#", "-r"))]
    assert own == [*extras["kafka"], *extras["ui"]]
