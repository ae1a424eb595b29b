"""Finding and installing Java, with fake `java` programs and a fake `jdk` package: no network, no Java."""

import sys
from pathlib import Path

import pytest

from cedilla import Options
from cedilla.runtime import run
from cedilla.runtime.engines.spark import java
from tests.kit.errors import error_of
from tests.kit.java import fake_java, install_with


@pytest.fixture(autouse=True)
def _nothing_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.delenv("CEDILLA_JAVA_DIR", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(
    ("output", "version"), [("1.8", 8), ("11", 11), ("17", 17), ("21", 21), ("odd", None)]
)
def test_version_is_what_java_says(tmp_path: Path, output: str, version: int | None) -> None:
    assert java.java_version(fake_java(tmp_path / "jdk", output)) == version


def test_no_version_where_java_is_absent_or_fails(tmp_path: Path) -> None:
    assert java.java_version(tmp_path / "nowhere") is None
    broken = fake_java(tmp_path / "broken", "17")
    (broken / "bin" / "java").write_text("#!/bin/sh\nexit 1\n")
    assert java.java_version(broken) is None


def test_java_home_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(fake_java(tmp_path / "a", "17")))
    monkeypatch.setenv("PATH", str(fake_java(tmp_path / "b", "21") / "bin"))
    assert java.find_java() == tmp_path / "a"


def test_an_old_java_home_gives_way_to_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(fake_java(tmp_path / "a", "11")))
    monkeypatch.setenv("PATH", str(fake_java(tmp_path / "b", "21") / "bin"))
    assert java.find_java() == tmp_path / "b"


def test_a_wrapper_on_path_is_asked_for_its_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = fake_java(tmp_path / "real", "17")
    monkeypatch.setenv("PATH", str(fake_java(tmp_path / "wrapper", "17", says_home=real) / "bin"))
    assert java.find_java() == real


@pytest.mark.parametrize("layout", ["", "jdk-17", "jdk-17/Contents/Home"])
def test_local_folder_is_searched_last(tmp_path: Path, layout: str) -> None:
    assert java.find_java() is None
    assert fake_java(tmp_path / ".java" / layout, "17") == java.find_java()


def test_local_folder_can_be_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CEDILLA_JAVA_DIR", str(tmp_path / "elsewhere"))
    assert fake_java(tmp_path / "elsewhere" / "jdk", "17") == java.find_java()


def test_ensure_exports_java_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(fake_java(tmp_path / "old", "8")))
    home = fake_java(tmp_path / ".java" / "jdk", "17")
    assert java.ensure() == home
    assert java.os.environ["JAVA_HOME"] == str(home)


def test_ensure_says_where_it_looked_and_what_helps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(fake_java(tmp_path / "old", "11")))
    with pytest.raises(java.JavaMissing) as caught:
        java.ensure()
    message = str(caught.value)
    assert f"JAVA_HOME ({tmp_path / 'old'}): Java 11" in message
    assert "java on PATH: no Java that runs" in message
    assert str(tmp_path / ".java") in message
    assert "python -m cedilla.runtime.engines.spark.java --install .java" in message


@pytest.mark.parametrize("layout", ["", "Contents/Home"])
def test_install_gives_a_java_that_is_found_afterwards(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, layout: str
) -> None:
    install_with(monkeypatch, layout=layout)
    home = java.install_java(tmp_path / ".java")
    assert home == tmp_path / ".java" / "jdk-17" / layout == java.find_java()
    assert [child.name for child in (tmp_path / ".java").iterdir()] == ["jdk-17"]
    assert java.install_java(tmp_path / ".java") == home


def test_failed_download_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install_with(monkeypatch, error=OSError("no route to host"))
    with pytest.raises(java.JavaMissing, match="no route to host"):
        java.install_java(tmp_path / ".java")
    assert list((tmp_path / ".java").iterdir()) == []


def test_installed_java_must_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install_with(monkeypatch, version="11")
    with pytest.raises(java.JavaMissing, match="does not run"):
        java.install_java(tmp_path / ".java")


def test_installing_requires_install_jdk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jdk", None)
    with pytest.raises(java.JavaMissing, match="requires the package install-jdk"):
        java.install_java(tmp_path / ".java")


def test_command_prints_the_home_or_what_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert java.main([]) == 1
    assert "Spark requires Java 17 or newer" in capsys.readouterr().err
    install_with(monkeypatch)
    assert java.main(["--install", ".java"]) == 0
    installed = capsys.readouterr().out.strip()
    assert java.main([]) == 0
    assert (
        Path(capsys.readouterr().out.strip()) == Path(installed).absolute() == tmp_path / ".java" / "jdk-17"
    )


def test_a_java_is_asked_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = fake_java(tmp_path / "jdk", "17")
    executable, asked = home / "bin" / "java", tmp_path / "asked"
    executable.write_text(f"{executable.read_text('utf-8')}echo >> {asked}\n", "utf-8")
    monkeypatch.setenv("JAVA_HOME", str(home))
    assert java.find_java() == java.find_java() == java.ensure() == home
    assert asked.read_text("utf-8") == "\n"


def test_a_run_on_spark_without_java_names_the_engine_that_needs_none(tmp_path: Path) -> None:
    """Also in a process that has a session of Spark, which `cedilla.run` would take."""
    (tmp_path / "in").mkdir()
    query = 'stream r(a: long) from json "in"; emit r to json "out";'
    error = error_of(lambda: run(query, Options(once=True, engine="spark")))
    assert error.code == "RQ403"
    assert "cedilla[sail]" in str(error.help)
