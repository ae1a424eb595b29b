"""The inputs of the benchmarks (docs/benchmarks.md)."""

from pathlib import Path

from tests.benchmarks.inputs import MARKER_SUFFIX, set_times


def test_markers_of_a_file_come_right_behind_it(tmp_path: Path) -> None:
    """In Parquet they have files of their own; before their tuples they would make all of these late."""
    wanted = [f"00000{n}{end}.parquet" for n in range(3) for end in ("", MARKER_SUFFIX)]
    for name in reversed(wanted):
        (tmp_path / name).touch()
    set_times(tmp_path)
    found = sorted(tmp_path.iterdir(), key=lambda path: path.stat().st_mtime)
    assert [path.name for path in found] == wanted
