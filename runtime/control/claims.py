"""What `partitioned by` promises (theory N9): a key comes from one partition, that of the first marker about it."""

from __future__ import annotations

from cedilla.compiler import regions
from cedilla.compiler.plan import Source
from cedilla.compiler.regions import Steps, Tree
from cedilla.runtime.control.partitions import region_of
from cedilla.runtime.control.source_state import SourceState
from cedilla.runtime.items.marker import MarkerLine


def claimed(state: SourceState, source: Source, raw: Tree, marker: MarkerLine) -> SourceState:
    """The state where a marker stands whose text describes tuples of some keys: these come from no other partition, so
    they are closed there, and D1 waits for no other feeder. `raw`: what it describes."""
    if source.partitioned is None or marker.partition is None:
        return state
    region = state.canonical(raw)
    keys = regions.exists(region, regions.attributes(region) - {source.partitioned}, state.universe)
    if not isinstance(keys, Steps) or keys.undefined or any(keys.pieces):
        return state
    elsewhere = regions.difference(keys, region_of(marker.partition))
    return state.close(elsewhere, marker.position)
