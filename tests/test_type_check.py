"""Which files `make types` checks: those that a change can concern, and no others."""

from __future__ import annotations

import pytest

from tests import type_check
from tests.type_check import Module, interface_of, keys, link_of, names

pytestmark = pytest.mark.quick

BEFORE = """
class Box:
    def area(self) -> int:
        return 1

    def sides(self):
        return 1
"""


@pytest.mark.parametrize(
    ("old", "new", "is_seen"),
    [
        ("        return 1\n\n", '        """The area."""\n        return 2  # twice\n\n', False),
        ("-> int", "-> float", True),
        ("self)", "self, scale: int)", True),
        ("        return 1\n\n", "        self.cached = 1\n        return 1\n\n", True),
        ("sides(self):\n        return 1", "sides(self):\n        return 1.0", True),
    ],
    ids=["body", "result", "parameter", "attribute", "body without a stated result"],
)
def test_an_interface_is_what_other_modules_see(old: str, new: str, is_seen: bool) -> None:
    assert old in BEFORE
    assert (interface_of(BEFORE.replace(old, new, 1)) != interface_of(BEFORE)) == is_seen


def test_a_change_concerns_modules_that_import_it_by_others_too() -> None:
    modules = {
        "regions": Module("1", "a", ["re"]),
        "facts": Module("2", "b", ["regions"]),
        "join": Module("3", "c", ["facts"]),
        "units": Module("4", "d", []),
    }
    before = keys(modules, "")

    def changed(name: str, module: Module) -> set[str]:
        now = keys({**modules, name: module}, "")
        return {other for other in now if now[other] != before[other]}

    assert changed("regions", Module("5", "a", ["re"])) == {"regions"}
    assert changed("regions", Module("5", "e", ["re"])) == {"regions", "facts", "join"}
    assert changed("join", Module("5", "e", ["facts", "units"])) == {"join"}
    assert keys(modules, "newer pyright").keys() == before.keys()
    assert not set(keys(modules, "newer pyright").values()) & set(before.values())


def test_every_module_is_checked_by_the_path_that_imports_lead_to() -> None:
    paths = names()
    assert {
        "cedilla",
        "cedilla.compiler.regions",
        "cedilla.compiler.regions.trees",
        "tests.type_check",
    } <= paths.keys()
    trees = link_of(paths["cedilla.compiler.regions.trees"])
    assert trees == type_check.LINKS / "cedilla" / "compiler" / "regions" / "trees.py"
    assert trees.resolve() == paths["cedilla.compiler.regions.trees"].resolve()
    assert link_of(paths["tests.type_check"]) == paths["tests.type_check"]
