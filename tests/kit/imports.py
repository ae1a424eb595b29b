"""Which module of the repository imports which, and what the list of packages allows."""

from __future__ import annotations

import ast
import tomllib
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

from tests.kit import ROOT

FOLDERS = ("grammar", "compiler", "runtime")


def source_files(folder: str) -> list[Path]:
    """Returns the modules of a folder, in order."""
    return sorted((ROOT / folder).rglob("*.py"))


@cache
def imports(file: Path) -> frozenset[str]:
    """Returns every module that a file imports, at any depth, by its absolute name."""
    return frozenset(_imports(file))


def _imports(file: Path) -> Iterator[str]:
    package = ["cedilla", *file.relative_to(ROOT).parent.parts]
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            module = ".".join([*base, *filter(None, [node.module])])
            yield module
            yield from (f"{module}.{alias.name}" for alias in node.names)


DEPTH = {"grammar": 2, "compiler": 2, "runtime": 3}
"""Folder -> the number of folders in the path of one of its packages, `compiler/plan`; `runtime` has rooms."""


def package_of(file: Path) -> str:
    """Returns the package of a file, `compiler/plan`; its folder for a file outside of all packages."""
    parts = file.relative_to(ROOT).parent.parts
    return "/".join(parts[: DEPTH[parts[0]]])


def part_of(file: Path) -> str:
    """Returns the part of a package that a file is in, `compiler/operators/shared`; its package for a file in none."""
    parts = file.relative_to(ROOT).parent.parts
    return "/".join(parts[: DEPTH[parts[0]] + 1])


def packages_of(folder: str) -> dict[str, set[str]]:
    """Returns the packages of a folder, each with those that it imports, by their paths."""
    return {
        package: {target for target in targets if is_package(target)}
        for package, targets in imported_packages().items()
        if package.startswith(f"{folder}/") and is_package(package)
    }


def parts_of(folder: str) -> dict[str, set[str]]:
    """Returns the parts of a folder's packages, each with what it imports: other parts, and packages."""
    return {
        part: targets
        for part, targets in imported_packages(part_of).items()
        if part.startswith(f"{folder}/") and is_part(part)
    }


def is_package(path: str) -> bool:
    """Returns True for the path of a package, False for that of a folder, a room or a part."""
    return path.count("/") == DEPTH[path.partition("/")[0]] - 1


def is_part(path: str) -> bool:
    """Returns True for the path of a part of a package."""
    return path.count("/") == DEPTH[path.partition("/")[0]]


def init_of(folder: str, package: str) -> Path:
    """Returns the file with the docstring of a package. `package`: its name in the table."""
    return next(ROOT / path / "__init__.py" for path in packages_of(folder) if path.endswith(f"/{package}"))


@cache
def imported_packages(package_of: Callable[[Path], str] = package_of) -> dict[str, set[str]]:
    """Returns, by package, the packages of the same folder that it imports, for type checkers only or not."""
    homes = {
        f"cedilla.{'.'.join(f.relative_to(ROOT).with_suffix('').parts)}": f
        for top in FOLDERS
        for f in source_files(top)
    }
    result: dict[str, set[str]] = {}
    for file in homes.values():
        package = package_of(file)
        targets = result.setdefault(package, set())
        for module in imports(file):
            home = homes.get(module) or homes.get(f"{module}.__init__")
            if home is not None and package_of(home).partition("/")[0] == package.partition("/")[0]:
                targets.add(package_of(home))
        targets.discard(package)
    return result


def rooms(folder: str) -> dict[str, dict[str, list[str]]]:
    """Returns the rooms of a folder in order, each with its packages and what these may import; a folder without rooms
    is one room, without a name."""
    packages = tomllib.loads((ROOT / "tests" / "packages.toml").read_text())[folder]
    return packages if folder == "runtime" else {"": packages}


def allowed_imports(folder: str) -> dict[str, set[str]]:
    """Returns a folder's packages in order, each with those that it may import."""
    return {name: set(imported) for packages in rooms(folder).values() for name, imported in packages.items()}
