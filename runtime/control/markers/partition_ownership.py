"""Partition ownership by `partitioned by` (theory N9): a key comes from one partition, that of its first marker."""

from __future__ import annotations

from cedilla.compiler import regions
from cedilla.compiler.plan import Source
from cedilla.compiler.regions import PARTITION, Level, Tree
from cedilla.runtime.connectors.records.marker import MarkerLine
from cedilla.runtime.control.accents.trees import positions_after
from cedilla.runtime.control.sources.partitions import anywhere, region_of, within
from cedilla.runtime.control.sources.source_state import SourceState


def with_ownership(state: SourceState, source: Source, raw: Tree, marker: MarkerLine) -> SourceState:
    """Returns the state after a marker assigns the keys it describes to its partition. The other partitions are closed
    for them, so that D1 waits for no other feeder. Keys that another partition owns stay closed here. `raw`: the region
    that the marker describes.
    """
    if source.partitioned is None or marker.partition is None:
        return state
    here, key = region_of(marker.partition), source.partitioned
    region = state.canonical(within(raw, marker.partition))
    keys = regions.exists(region, regions.attributes(region) - {key}, state.universe)
    if not isinstance(keys, Level) or keys.undefined or any(keys.pieces):
        return state
    closed = regions.intersection(keys, here, state.closed)
    gone = regions.forall(closed, regions.attributes(closed) - {key, PARTITION}, state.universe)
    mine = regions.difference(keys, anywhere(gone, state.universe))
    return state.close(regions.difference(mine, here), positions_after(marker.position))
