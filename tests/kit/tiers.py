"""Which tests run when: `make test` has one case of each question, `make test-rest` the further ones."""

import sys
from collections.abc import Iterable
from typing import Any

import pytest

TIERS = pytest.StashKey[dict[str, str]]()
"""In the configuration of a run: the tier of each test that was collected, `test`, `rest`, `faults` or `soak`."""

QUICK = pytest.StashKey[set[str]]()
"""In the configuration of a run: the tests that were collected and that `make quick` has."""


def rest(*values: Any) -> Any:
    """A parameter set of `make test-rest`."""
    return pytest.param(*values, marks=pytest.mark.rest)


def soak(*values: Any) -> Any:
    """Returns a parameter set of `make soak`."""
    return pytest.param(*values, marks=pytest.mark.soak)


def tiered(values: Iterable[Any], count: int = 1, most: int = sys.maxsize) -> list[Any]:
    """Parameters: the first `count` are in `make test`, others of the first `most` in `make test-rest`, the last in
    `make soak`. A tuple is a set."""

    def of(number: int, value: Any) -> Any:
        mark = rest if number < most else soak
        return value if number < count else mark(*value) if isinstance(value, tuple) else mark(value)

    return [of(number, value) for number, value in enumerate(values)]
