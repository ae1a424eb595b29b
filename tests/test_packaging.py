"""The shape of the repository: what is packaged, and which way imports point."""

import ast
import re
import subprocess
import sys
import tomllib
from doctest import DocTestParser
from graphlib import TopologicalSorter

import pytest

from tests.docs.prose import docstrings
from tests.kit import ROOT
from tests.kit.imports import (
    FOLDERS,
    allowed_imports,
    imported_packages,
    imports,
    init_of,
    is_package,
    is_part,
    packages_of,
    parts_of,
    rooms,
    source_files,
)

FORBIDDEN = {
    "grammar": ("cedilla.compiler", "cedilla.runtime", "pyspark"),
    "compiler": ("cedilla.runtime", "pyspark"),
    "runtime": (),
}
SETUPTOOLS = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]


def test_every_folder_with_python_is_a_listed_package() -> None:
    on_disk = {
        ".".join(("cedilla", *file.relative_to(ROOT).parent.parts))
        for folder in FOLDERS
        for file in source_files(folder)
    }
    assert set(SETUPTOOLS["packages"]) == {"cedilla", "cedilla.docs", "pyspark_cedilla", *on_disk}


def test_every_package_has_an_init_and_every_folder_is_typed() -> None:
    for package in SETUPTOOLS["packages"][1:-2]:
        assert (ROOT.joinpath(*package.split(".")[1:]) / "__init__.py").is_file(), package
    assert (ROOT / SETUPTOOLS["package-dir"]["pyspark_cedilla"] / "__init__.py").is_file()
    for folder in FOLDERS:
        assert (ROOT / folder / "py.typed").is_file(), folder


def test_the_package_itself_has_its_home_beside_the_links() -> None:
    assert not (ROOT / "__init__.py").exists()
    assert SETUPTOOLS["packages"][0] == "cedilla"
    assert (ROOT / SETUPTOOLS["package-dir"]["cedilla"] / "__init__.py").is_file()


def test_public_names_come_without_pyspark_until_one_needs_it() -> None:
    program = (
        "import sys, cedilla\n"
        "from cedilla import Options, compile_query, simulate\n"
        "assert cedilla.__version__\n"
        "assert set(cedilla.__all__) <= set(dir(cedilla))\n"
        "assert not any(name.partition('.')[0] == 'pyspark' for name in sys.modules)\n"
        "assert all(getattr(cedilla, name) for name in cedilla.__all__)\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True, cwd=ROOT)


@pytest.mark.parametrize("folder", FOLDERS)
def test_link_for_type_checkers_resolves(folder: str) -> None:
    link = ROOT / ".links" / "cedilla" / folder
    assert link.is_symlink()
    assert not link.readlink().is_absolute()
    assert link.resolve() == ROOT / folder
    assert SETUPTOOLS["package-dir"][f"cedilla.{folder}"] == folder


@pytest.mark.parametrize("folder", FOLDERS)
def test_imports_point_towards_grammar(folder: str) -> None:
    wrong = [
        f"{file.relative_to(ROOT)} imports {module}"
        for file in source_files(folder)
        for module in imports(file)
        if any(module == name or module.startswith(f"{name}.") for name in FORBIDDEN[folder])
    ]
    assert wrong == []


def test_only_pygments_itself_imports_the_lexer() -> None:
    """Pygments is no dependency."""
    actual = {
        str(file.relative_to(ROOT))
        for folder in FOLDERS
        for file in source_files(folder)
        if any(re.match(r"pygments\b|cedilla\.grammar\.highlighting\b", name) for name in imports(file))
    }
    assert actual == {"grammar/highlighting.py"}


def name_of(path: str) -> str:
    """Returns the name of a package in the table."""
    return path.rpartition("/")[2]


PLAIN, BELOW_PLAIN = "plain", ("connectors", "control")
"""The engine in plain Python computes with the control plane: its imports are from rooms that come after its own."""


@pytest.mark.parametrize("folder", FOLDERS)
def test_packages_import_what_the_list_allows_and_no_circle(folder: str) -> None:
    """The list is the one statement of which package may import which; each imports earlier ones only."""
    shown = allowed_imports(folder)
    # The folder's own modules are faces and front doors, which import all.
    real = {name_of(path): {*map(name_of, targets)} for path, targets in packages_of(folder).items()}
    assert real == shown
    above = {PLAIN: {name for room in BELOW_PLAIN for name in rooms(folder).get(room, {})}}
    earlier: set[str] = set()
    for package, targets in shown.items():
        below = targets - above.get(package, earlier)
        assert below == set(), f"{package} imports what stands below it: {below}"
        earlier.add(package)


LISTED = re.compile(r"Imports ((?:`\w+`|, | and |the grammar|the compiler)+)\.")


@pytest.mark.parametrize("folder", FOLDERS)
def test_packages_say_what_they_import(folder: str) -> None:
    """A docstring that lists packages lists those of the table."""
    for package, targets in allowed_imports(folder).items():
        text = ast.get_docstring(ast.parse(init_of(folder, package).read_text())) or ""
        listed = LISTED.search(" ".join(text.split()))
        if listed is not None:
            assert set(re.findall(r"`(\w+)`", listed[1])) == targets, package


def test_parts_of_a_package_import_each_other_in_no_circle() -> None:
    """What stands in a package beside its parts may be below some and above others."""
    parts = {
        part: {*filter(is_part, targets)} for folder in FOLDERS for part, targets in parts_of(folder).items()
    }
    TopologicalSorter(parts).prepare()


@pytest.mark.parametrize(
    "folder", ["grammar", "compiler/explain", "compiler/expressions", "compiler/operators"]
)
def test_modules_beside_parts_are_above_them(folder: str) -> None:
    wrong = [
        f"{file.relative_to(ROOT)} imports {module}"
        for file in source_files(folder)
        if file.parent != ROOT / folder
        for module in imports(file)
        if (ROOT / f"{module.removeprefix('cedilla.').replace('.', '/')}.py").parent == ROOT / folder
        and (ROOT / f"{module.removeprefix('cedilla.').replace('.', '/')}.py").is_file()
    ]
    assert wrong == []


@pytest.mark.parametrize("folder", FOLDERS)
def test_parts_say_what_they_import(folder: str) -> None:
    """A docstring that lists packages lists parts of its own package, and other packages."""
    for part, targets in parts_of(folder).items():
        package = part.rpartition("/")[0]
        text = ast.get_docstring(ast.parse((ROOT / part / "__init__.py").read_text())) or ""
        if (listed := LISTED.search(" ".join(text.split()))) is not None:
            siblings = {name_of(target) for target in targets if target.startswith(f"{package}/")}
            packages = {target for target in targets if is_package(target) or is_part(target)} - {package}
            others = {
                name_of(target if is_package(target) else target.rpartition("/")[0])
                for target in packages
                if not target.startswith(f"{package}/")
            }
            assert set(re.findall(r"`(\w+)`", listed[1])) == siblings | others, part


def test_no_package_of_the_runtime_is_imported_from_its_face() -> None:
    """A face that packages below it import would be a circle."""
    wrong = [
        f"{p} imports {t}" for p, targets in imported_packages().items() for t in targets if t == "runtime"
    ]
    assert wrong == []


CLASSIC = re.compile(
    r"\b(_jvm|_jdf|_jo|_jsc|_jreader|_jwriter|_jsparkSession|_jspark|sparkContext|Observation|rdd)\b"
    r"|\b(input_file_name|input_file_block_start)\b|\b_metadata\.\w"
)
"""What Spark Connect lacks."""
NOT_YET = {
    "runtime/connectors/formats/read_by_spark.py": 2,
}
"""File -> lines in which it stands still. This only shrinks."""


def test_what_only_spark_itself_has_is_asked_in_one_place() -> None:
    allowed = {
        **NOT_YET,
        "runtime/engines/spark/spark.py": sys.maxsize,
        "compiler/expressions/scalars/changing_functions.py": 1,
    }
    uses = {
        str(file.relative_to(ROOT)): sum(
            bool(CLASSIC.search(line)) for line in file.read_text(encoding="utf-8").splitlines()
        )
        for folder in FOLDERS
        for file in source_files(folder)
    }
    assert {file: count for file, count in uses.items() if count > allowed.get(file, 0)} == {}


@pytest.mark.parametrize("folder", FOLDERS)
def test_no_file_is_longer_than_400_lines_without_a_reason(folder: str) -> None:
    """The reason stands in its docstring: `Over 400 lines, as ...`. Examples do not count."""
    long = [
        str(file.relative_to(ROOT))
        for file in source_files(folder)
        if _length(file.read_text(encoding="utf-8")) > 400
        and "Over 400 lines, as "
        not in (ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or "")
    ]
    assert long == []


def _length(source: str) -> int:
    """Returns the lines of a file without the examples in its docstrings."""
    examples = (e for _, text in docstrings(source) for e in DocTestParser().get_examples(text))
    return len(source.splitlines()) - sum((e.source + e.want).count("\n") for e in examples)
