"""Iceberg tables that pyiceberg writes, in a catalog of SQLite."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
from attrs import define, field

Row = Mapping[str, Any]


@define(eq=False)
class IcebergTable:
    """The table `db.r` of a catalog in a folder."""

    root: Path
    catalog: Any = field(init=False)

    def __attrs_post_init__(self) -> None:
        from pyiceberg.catalog import load_catalog

        self.catalog = load_catalog("lake", **self.properties)

    @property
    def properties(self) -> dict[str, str]:
        """The configuration of the catalog."""
        self.root.mkdir(exist_ok=True)
        database, warehouse = f"sqlite:///{self.root / 'c.db'}", f"file://{self.root / 'wh'}"
        return {"type": "sql", "uri": database, "warehouse": warehouse}

    @property
    def path(self) -> Path:
        return self.root / "wh" / "db" / "r"

    @property
    def table(self) -> Any:
        return self.catalog.load_table("db.r")

    def create(
        self, schema: pa.Schema, partition_by: tuple[str, ...] = (), location: str | None = None
    ) -> None:
        self.catalog.create_namespace_if_not_exists("db")
        table = self.catalog.create_table("db.r", schema, location)
        if partition_by:
            with table.update_spec() as spec:
                for name in partition_by:
                    spec.add_identity(name)

    def write(self, *rows: Row) -> None:
        """Appends rows in one snapshot."""
        table = self.table
        table.append(pa.Table.from_pylist([dict(row) for row in rows], table.schema().as_arrow()))

    def add_bare(self, rows: pa.Table, partition: tuple[Any, ...]) -> None:
        """Appends a file without ids of fields, and without the columns of its partition, as one from Hive is."""
        from pyarrow import parquet
        from pyiceberg.manifest import DataFile, DataFileContent, FileFormat
        from pyiceberg.typedef import Record

        path = self.path / "data" / f"bare-{len(self.snapshots())}.parquet"
        path.parent.mkdir(exist_ok=True)
        parquet.write_table(rows, path)
        table = self.table
        file = DataFile.from_args(
            content=DataFileContent.DATA,
            file_path=f"file://{path}",
            file_format=FileFormat.PARQUET,
            partition=Record(*partition),
            record_count=rows.num_rows,
            file_size_in_bytes=path.stat().st_size,
        )
        file.spec_id = table.spec().spec_id
        with table.transaction() as change, change.update_snapshot().fast_append() as update:
            update.append_data_file(file)

    def alter(self, change: Callable[[Any], object]) -> None:
        """Changes the schema."""
        with self.table.update_schema() as update:
            change(update)

    def swap(self, one: str, other: str) -> None:
        self.alter(lambda of: of.rename_column(one, "_aside"))
        self.alter(lambda of: of.rename_column(other, one))
        self.alter(lambda of: of.rename_column("_aside", other))

    def snapshots(self) -> list[int]:
        return [of.snapshot_id for of in self.table.snapshots()]

    def expire(self, *snapshots: int) -> None:
        """Removes snapshots from the metadata, as expiry does."""
        self.table.maintenance.expire_snapshots().by_ids([*snapshots]).commit()
