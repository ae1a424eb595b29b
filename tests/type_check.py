"""Checks types by pyright where a change can matter: `python -m tests.type_check [PATH...]`, all files by default.

A file is checked again if it has changed, or the interface of a module that it imports, by others or by itself. A body
is no part of an interface if its function states what it returns. What has passed is kept in `build/types`.

Files of the product are checked by their links, as imports lead to them. By their folders each module would be a second
one, which is read and analysed twice.
"""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
import tomllib
from collections.abc import Iterable, Mapping
from hashlib import sha256
from importlib.metadata import distributions
from pathlib import Path
from typing import Any

from attrs import asdict, frozen

from tests.kit import ROOT
from tests.kit.imports import FOLDERS, imports

HOME = ROOT / "build" / "types"
PASSED, PARSED, CONFIG = HOME / "passed.json", HOME / "parsed.json", HOME / "pyrightconfig.json"
LINKS = ROOT / ".links"
MANY = 100
"""The number of files from which on a second thread pays: each reads what it imports by itself."""


@frozen
class Module:
    """A file, as checks depend on it. `digest`: of its text; `interface`: of the part of it that others see."""

    digest: str
    interface: str
    imports: list[str]


def digest_of(*texts: str) -> str:
    return sha256("\0".join(texts).encode()).hexdigest()[:20]


class _Interface(ast.NodeTransformer):
    """Removes what no other module sees: docstrings, and bodies of functions that state what they return."""

    def visit_Expr(self, node: ast.Expr) -> ast.AST | None:
        return None if isinstance(node.value, ast.Constant) else node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        if node.returns is None or any(map(_reaches_out, ast.walk(node))):
            return self.generic_visit(node)
        node.body = []
        return node


def _reaches_out(node: ast.AST) -> bool:
    """Returns True for a part of a body by which it declares attributes or variables of others."""
    is_set = isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)
    return is_set or isinstance(node, ast.Global)


def interface_of(text: str) -> str:
    return ast.dump(_Interface().visit(ast.parse(text)))


def module_of(path: Path, text: str) -> Module:
    return Module(digest_of(text), digest_of(interface_of(text)), sorted(imports(path)))


def names() -> dict[str, Path]:
    """Returns the modules that pyright checks, by the names by which others import them."""
    modules = {
        "cedilla": LINKS / "cedilla" / "__init__.py",
        "cedilla.produce": LINKS / "cedilla" / "produce.py",
    }
    for folder in (*FOLDERS, "tests"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            *outer, last = path.relative_to(ROOT).with_suffix("").parts
            parts = outer if last == "__init__" else [*outer, last]
            modules[".".join(parts if folder == "tests" else ["cedilla", *parts])] = path
    return modules


def reached(modules: Mapping[str, Module], start: str) -> set[str]:
    """Returns the modules that a module imports, at any depth."""
    result: set[str] = set()
    left = [start]
    while left:
        for name in modules[left.pop()].imports:
            if name in modules and name not in result:
                result.add(name)
                left.append(name)
    return result


def keys(modules: Mapping[str, Module], common: str) -> dict[str, str]:
    """Returns what the result of each module's check depends on. `common`: the part of all of them."""
    return {
        name: digest_of(
            common,
            module.digest,
            *(modules[other].interface for other in sorted(reached(modules, name))),
        )
        for name, module in modules.items()
    }


def settings() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["pyright"]


def surroundings() -> str:
    """Returns what the results of all checks depend on: settings, and the versions of what is installed."""
    installed = sorted(f"{package.name} {package.version}" for package in distributions())
    return digest_of(json.dumps(settings()), sys.version, *installed)


def link_of(path: Path) -> Path:
    """Returns the path by which pyright has a file, or a folder."""
    inner = path.relative_to(ROOT)
    return LINKS / "cedilla" / inner if inner.parts[0] in FOLDERS else path


def checked(paths: Iterable[Path], count: int) -> list[dict[str, Any]]:
    """Returns the diagnostics of files and folders. `count`: of files."""
    config = {
        "extends": os.path.relpath(ROOT / "pyproject.toml", HOME),
        "include": [os.path.relpath(link_of(path), HOME) for path in paths],
        "strict": [os.path.relpath(link_of(ROOT / path), HOME) for path in settings()["strict"]],
        "extraPaths": [os.path.relpath(path, HOME) for path in (LINKS, ROOT)],
    }
    CONFIG.write_text(json.dumps(config))
    command = [
        sys.executable,
        "-m",
        "pyright",
        "-p",
        str(CONFIG),
        "--pythonpath",
        sys.executable,
        "--outputjson",
    ]
    done = subprocess.run(
        [*command, *(["--threads", "2"] if count > MANY else [])], check=False, capture_output=True, text=True
    )
    try:
        return json.loads(done.stdout)["generalDiagnostics"]
    except ValueError:
        sys.exit(done.stdout + done.stderr)


def line_of(diagnostic: Mapping[str, Any]) -> str:
    """Returns a diagnostic as text, with the place in the file itself."""
    path, start = Path(diagnostic["file"]).resolve(), diagnostic["range"]["start"]
    where = f"{path.relative_to(ROOT)}:{start['line'] + 1}:{start['character'] + 1}"
    return f"{where} - {diagnostic['severity']}: {diagnostic['message']} ({diagnostic.get('rule', 'syntax')})"


def _read(path: Path) -> dict[str, Any]:
    return json.loads(path.read_text("utf-8")) if path.exists() else {}


def main(arguments: list[str]) -> int:
    HOME.mkdir(parents=True, exist_ok=True)
    parsed, paths = _read(PARSED), names()
    texts = {name: path.read_text("utf-8") for name, path in paths.items()}
    modules = {
        name: Module(**parsed[digest])
        if (digest := digest_of(text)) in parsed
        else module_of(paths[name], text)
        for name, text in texts.items()
    }
    PARSED.write_text(json.dumps({module.digest: asdict(module) for module in modules.values()}))
    wanted = [Path(argument).absolute() for argument in arguments]
    passed, now = _read(PASSED), keys(modules, surroundings())
    left = [
        name
        for name, path in paths.items()
        if passed.get(name) != now[name] and (not wanted or any(path.is_relative_to(w) for w in wanted))
    ]
    diagnostics = checked((paths[name] for name in left), len(left)) if left else []
    errors = [diagnostic for diagnostic in diagnostics if diagnostic["severity"] == "error"]
    wrong = {Path(error["file"]).resolve() for error in errors}
    passed |= {name: now[name] for name in left if paths[name] not in wrong}
    PASSED.write_text(json.dumps({name: passed[name] for name in paths if name in passed}))
    print(*map(line_of, diagnostics), sep="\n", end="\n" if diagnostics else "")
    print(f"{len(left)} of {len(paths)} files checked: {len(errors)} errors")
    return bool(errors)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
