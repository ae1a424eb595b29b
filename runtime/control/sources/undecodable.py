"""Raw values without a canonical one."""

from __future__ import annotations

from collections.abc import Collection

from cedilla.runtime.control.sources.source_state import SourceState


def undecodable(state: SourceState) -> tuple[tuple[str, Collection[str]], ...]:
    """Returns the codes that reject values without a canonical one, the first that fits decides, each with the
    attributes that may have such values (theory N3, N11, N12)."""
    return ("RQ314", state.codes), ("RQ334", state.numbers.raw_types), ("RQ315", state.bent)
