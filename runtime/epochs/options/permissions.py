"""Permissions of a query on this machine: the modules that it loads, and the places that it reads and writes.

The user of a query is often not its author. Therefore a query loads only modules that the user names
(`--allow-module`). It reads and writes only below its own folder, below the working directory, in stores, and below
folders that the user names (`--allow-path`). Paths that the user gives (`--source`, `--sink`) are allowed.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable, Iterator
from pathlib import Path

from attrs import frozen

from cedilla.compiler.included import check_signs
from cedilla.compiler.plan import Plan
from cedilla.grammar.diagnostics import Span, failure
from cedilla.grammar.diagnostics.printable import has_secret
from cedilla.runtime.connectors.records.lines import local_path
from cedilla.runtime.connectors.storage.stores import STORES, check_scheme, scheme_of

ALLOWED = "CEDILLA_ALLOW_PATH"
"""The environment variable with more folders, separated as in `PATH`."""


def folder_of(query: str) -> tuple[str, ...]:
    """Returns the folder of a query's file, or nothing if the query is not a file."""
    return (str(Path(query).parent),) if Path(query).is_file() else ()


def check_modules(plan: Plan, allowed: Iterable[str]) -> None:
    """Raises RQ483 if the module of a user's operator is not allowed, nor a package that contains it."""
    allowed = tuple(allowed)
    for operator in plan.operators:
        if operator.loads is None:
            continue
        label, module = operator.loads
        if not any(module == name or module.startswith(f"{name}.") for name in allowed):
            message = f"`{label}` loads the module `{module}`, which is not allowed"
            hint = (
                f"its code runs with your rights: `--allow-module {shlex.quote(module)}` loads it, in Python "
                f"`Options(allow_modules=[{module!r}])`"
            )
            raise failure("RQ483", message, operator.span, hint=hint)


def allowed_folders(folders: Iterable[str]) -> tuple[str, ...]:
    """Returns the folders that the user allows, without the working directory."""
    return (*folders, *filter(None, os.environ.get(ALLOWED, "").split(os.pathsep)))


def check_permitted(
    plan: Plan,
    allowed: Iterable[str] = (),
    given_sources: Iterable[str] = (),
    given_sinks: Iterable[str] = (),
) -> None:
    """Raises RQ484 if a plan reads or writes outside of the allowed folders, RQ485 for an address of the web, RQ486 for
    a path with a secret.

    `allowed`: folders in addition to the working directory. `given_sources`, `given_sinks`: names with a path from the
    user.
    """
    roots = allowed_folders(allowed)
    flags = {*(f"--source {name}" for name in given_sources), *(f"--sink {name}" for name in given_sinks)}
    for path in _places(plan):
        check_path(path.path, path.what, path.span)
        if not (
            path.is_elsewhere or path.path == "-" or path.option in flags or _is_within(path.path, roots)
        ):
            message = f"{path.what} {path.path}, outside of the query's folder and the working directory"
            hint = (
                f"`--allow-path {shlex.quote(path.path)}` allows it; `{path.option}=PATH` names another place"
            )
            raise failure("RQ484", message, path.span, hint=hint)


def _is_within(path: str, roots: Iterable[str]) -> bool:
    """Returns True for a path in a store, below the working directory or below a root. Links are followed."""
    if scheme_of(path) in STORES or any(_is_below(path, root) for root in roots if scheme_of(root)):
        return True
    local = local_path(path)
    folders = (folder for root in (".", *roots) if (folder := local_path(root)) is not None)
    return local is not None and any(local.resolve().is_relative_to(folder.resolve()) for folder in folders)


def _is_below(path: str, root: str) -> bool:
    """Returns True for a path below a root that is not on this machine."""
    return local_path(root) is None and f"{path}/".startswith(f"{root.rstrip('/')}/")


def check_path(path: str, what: str, span: Span | None = None) -> None:
    """Raises RQ485 for an address of the web, RQ486 for a path with a secret, RQ011 for one with U+0000. `what`: its
    use, for the message."""
    check_signs(path, span)
    check_scheme(scheme_of(path), span)
    if has_secret(path):
        hint = "the account in the environment, or in a file that only the account can read"
        raise failure("RQ486", f"{what} {path}: a secret in a path is seen in logs", span, hint=hint)


@frozen
class _Place:
    """A place that a plan reads or writes: the option for another place, the path, and its use in words.
    `is_elsewhere`: it is in a topic or a catalog, and not in a folder."""

    option: str
    path: str
    what: str
    is_elsewhere: bool
    span: Span | None


def _places(plan: Plan) -> Iterator[_Place]:
    for source in plan.sources:
        kind, option = f"{'table' if source.table else 'stream'} `{source.name}`", f"--source {source.name}"
        yield _Place(
            option, source.path, f"{kind} reads", source.is_topic or source.is_catalogued, source.span
        )
        if source.markers is not None:
            yield _Place(
                f"{option}.markers", source.markers, f"{kind} takes markers from", False, source.span
            )
    for emit in plan.emits:
        what = f"`{emit.name}` is written to"
        is_elsewhere = not emit.has_folder and emit.path != "-"
        yield _Place(f"--sink {emit.name}", emit.path, what, is_elsewhere, emit.span)
