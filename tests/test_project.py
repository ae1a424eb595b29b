"""What an index and a repository show of the project: its description, addresses, forms, citation."""

import importlib.util
import re
import subprocess
import tomllib
import venv
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import yaml

from cedilla.runtime.hosts.cli.main import main
from tests.kit import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
REPOSITORY = PROJECT["urls"]["Repository"]
TEMPLATES = ROOT / ".github" / "ISSUE_TEMPLATE"
FORMS = [TEMPLATES / "bug.yml", TEMPLATES / "producer-change.yml"]
PAGES = [*ROOT.glob("*.md"), ROOT / "CITATION.cff", *(ROOT / ".github").rglob("*.yml")]


@pytest.fixture(scope="module")
def setup() -> ModuleType:
    """The module that gives the package its description."""
    spec = importlib.util.spec_from_file_location("setup", ROOT / "setup.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def load(path: Path) -> Any:
    """A file of YAML."""
    return yaml.safe_load(path.read_text("utf-8"))


def test_links_and_pictures_of_the_description_work_outside_of_the_repository(setup: ModuleType) -> None:
    text = setup.absolute((ROOT / "README.md").read_text("utf-8"), REPOSITORY)
    prose = re.sub(r"^```.*?^```$|`[^`\n]+`", "", text, flags=re.MULTILINE | re.DOTALL)
    targets = re.findall(r"\]\(([^)\s]+)\)", prose)
    assert len(targets) > 20
    assert [target for target in targets if not target.startswith("https://")] == []
    own = [re.fullmatch(rf"{REPOSITORY}/(blob|raw)/main/([^#]+)(#.*)?", target) for target in targets]
    files = [match[2] for match in own if match is not None]
    assert [file for file in files if not (ROOT / file).exists()] == []
    pictures = re.findall(r"!\[[^\]]*\]\(([^)\s]+)\)", text)
    assert pictures
    assert all(picture.startswith(f"{REPOSITORY}/raw/") for picture in pictures)


def test_code_of_the_description_stays(setup: ModuleType) -> None:
    code = "```rq\nw := window[60 on ts as m](r);\n```\n`a[b](c)`"
    assert setup.absolute(code, "https://r") == code
    assert setup.absolute("[![p](p.png)](d.md) [x](#y)", "https://r") == (
        "[![p](https://r/raw/main/p.png)](https://r/blob/main/d.md) [x](#y)"
    )


def test_there_is_one_address_of_the_repository() -> None:
    owner = re.compile(r"https://github\.com/[\w-]+/cedilla(?![\w-])")
    assert all(url.startswith(REPOSITORY) for url in PROJECT["urls"].values())
    assert {address for page in PAGES for address in owner.findall(page.read_text("utf-8"))} == {REPOSITORY}


def test_the_citation_has_this_version_and_the_authors_of_the_papers() -> None:
    citation = load(ROOT / "CITATION.cff")
    assert citation["version"] == PROJECT["version"]
    authors = {author["family-names"] for paper in citation["references"] for author in paper["authors"]}
    assert {"Terwilliger", "Fernández-Moctezuma", "Delcambre", "Maier", "Tucker"} <= authors


def test_ci_calls_the_script_for_each_python_with_and_without_java() -> None:
    (job,) = load(ROOT / ".github" / "workflows" / "ci.yml")["jobs"].values()
    assert "bash .ci/run" in [step.get("run") for step in job["steps"]]
    matrix = job["strategy"]["matrix"]
    assert matrix == {"python": ["3.11", "3.12", "3.13", "3.14"], "java": ["17", "none"]}
    assert f">={matrix['python'][0]}" == PROJECT["requires-python"]
    assert "WITHOUT_JAVA" in (ROOT / ".ci" / "run").read_text("utf-8")


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.stem)
def test_a_form_has_fields_with_names_of_their_own(form: Path) -> None:
    content = load(form)
    assert content["name"]
    assert content["description"]
    fields = [field for field in content["body"] if field["type"] != "markdown"]
    assert len({field["id"] for field in fields}) == len(fields) > 0
    assert all(field["attributes"]["label"] for field in fields)
    for command in re.findall(r"`cedilla (\w+)", form.read_text("utf-8")):
        assert command in main.commands


def test_the_form_for_faults_asks_for_the_doctor() -> None:
    assert "`cedilla doctor CHECKPOINT`" in (TEMPLATES / "bug.yml").read_text("utf-8")


@pytest.mark.soak
def test_an_index_takes_the_distributions(tmp_path: Path) -> None:
    """By `build` and `twine check`, from their registry."""
    venv.create(tmp_path / "environment", with_pip=True)
    python = tmp_path / "environment" / "bin" / "python"
    subprocess.run([python, "-m", "pip", "install", "--quiet", "build", "twine"], check=True)
    source = tmp_path / "clone"
    subprocess.run(["git", "clone", "--quiet", ROOT, source], check=True)
    subprocess.run([python, "-m", "build", "--outdir", tmp_path / "dist", source], check=True)
    built = list((tmp_path / "dist").iterdir())
    assert {path.suffix for path in built} == {".whl", ".gz"}
    subprocess.run([python, "-m", "twine", "check", "--strict", *built], check=True)
