"""Mutations change lines of the code of today (`make mutants`)."""

from __future__ import annotations

import pytest

from tests.kit import ROOT
from tests.laws.mutations import MUTATIONS, Mutation


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.rule)
def test_a_mutation_changes_one_place(mutation: Mutation) -> None:
    assert (ROOT / mutation.file).read_text(encoding="utf-8").count(mutation.old) == 1
