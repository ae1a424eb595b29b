"""Code that tests share: harnesses, oracles, servers of this machine, and generators."""

from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
"""The folder of the repository."""

# A failure in a shared module shows its values, as one in a test does.
_MODULES = (f"tests.kit.{file.stem}" for file in Path(__file__).parent.glob("[a-z]*.py"))
pytest.register_assert_rewrite("tests.laws", "tests.compiler", "tests.runtime", *_MODULES)
