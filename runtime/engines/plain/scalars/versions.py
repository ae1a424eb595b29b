"""Versions as values of the plain reference: texts that compare as versions."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from cedilla.compiler.expressions.types.versions import key_of


class Version(str):
    """A version in the form that was sent. Equal versions have equal texts."""

    @cached_property
    def key(self) -> str:
        return key_of(str(self))

    def __lt__(self, other: Any) -> bool:
        return self.key < Version(other).key

    def __le__(self, other: Any) -> bool:
        return self.key <= Version(other).key

    def __gt__(self, other: Any) -> bool:
        return self.key > Version(other).key

    def __ge__(self, other: Any) -> bool:
        return self.key >= Version(other).key
