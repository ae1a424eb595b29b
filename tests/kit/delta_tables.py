"""Delta tables with a query over them. The library writes the rows, and the tests write what it cannot: entries of the
log that rename a column or add one, as Spark's `ALTER TABLE` does."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
from attrs import define, field
from pyspark.sql import SparkSession

from cedilla import Options, run
from cedilla.runtime import simulate
from cedilla.runtime.epochs.pipeline.report import EpochReport
from tests.kit.stream import is_tuple, read_output

Row = Mapping[str, Any]


@define(eq=False)
class DeltaTable:
    """A table in a folder. `mode`: its column mapping."""

    root: Path
    mode: str = "none"

    @property
    def path(self) -> str:
        return str(self.root / "r")

    @property
    def log(self) -> Path:
        return self.root / "r" / "_delta_log"

    def create(self, schema: pa.Schema, **options: Any) -> None:
        import deltalake

        mapping = {} if self.mode == "none" else {"delta.columnMapping.mode": self.mode}
        deltalake.DeltaTable.create(self.path, schema, configuration=mapping, **options)

    def write(self, *rows: Row, schema: pa.Schema | None = None, **options: Any) -> None:
        import deltalake

        names = dict.fromkeys(name for row in rows for name in row)
        table = pa.table({name: [row.get(name) for row in rows] for name in names})
        table = table if schema is None else pa.Table.from_pylist([dict(row) for row in rows], schema)
        deltalake.write_deltalake(self.path, table, **{"mode": "append", **options})

    def call(self, **names: str) -> None:
        """Gives columns new names in one version, as `ALTER TABLE ... RENAME COLUMN` does one by one."""
        metadata = self.metadata()
        schema = json.loads(metadata["schemaString"])
        for of in schema["fields"]:
            of["name"] = names.get(of["name"], of["name"])
        partitions = [names.get(name, name) for name in metadata["partitionColumns"]]
        self._add({**metadata, "partitionColumns": partitions}, schema)

    def add_column(self, name: str, type_: str) -> None:
        """Adds a column, as `ALTER TABLE ... ADD COLUMN` does."""
        metadata = self.metadata()
        schema = json.loads(metadata["schemaString"])
        number = int(metadata["configuration"]["delta.columnMapping.maxColumnId"]) + 1
        metadata["configuration"]["delta.columnMapping.maxColumnId"] = str(number)
        own = {"delta.columnMapping.id": number, "delta.columnMapping.physicalName": f"col-{number}"}
        schema["fields"].append({"name": name, "type": type_, "nullable": True, "metadata": own})
        self._add(metadata, schema)

    def map_names(self) -> None:
        """Gives a table the column mapping `name`, as `ALTER TABLE ... SET TBLPROPERTIES` does: files keep the names of
        their columns."""
        metadata = self.metadata()
        schema = json.loads(metadata["schemaString"])
        for number, of in enumerate(schema["fields"], 1):
            of["metadata"] = {
                "delta.columnMapping.id": number,
                "delta.columnMapping.physicalName": of["name"],
            }
        properties = {"mode": "name", "maxColumnId": str(len(schema["fields"]))}
        metadata["configuration"] = {
            f"delta.columnMapping.{name}": value for name, value in properties.items()
        }
        self.entry(
            {"protocol": {"minReaderVersion": 2, "minWriterVersion": 5}},
            {"metaData": {**metadata, "schemaString": json.dumps(schema)}},
        )

    def unmap(self) -> None:
        """Takes the column mapping away, as `ALTER TABLE ... SET TBLPROPERTIES` does after it has written all files."""
        metadata = self.metadata()
        metadata["configuration"] = {"delta.columnMapping.mode": "none"}
        self.entry({"metaData": metadata})

    def retype(self, name: str, type_: str) -> None:
        """Gives a column another type, as `ALTER TABLE ... ALTER COLUMN ... TYPE` does."""
        metadata = self.metadata()
        schema = json.loads(metadata["schemaString"])
        for of in schema["fields"]:
            of["type"] = type_ if of["name"] == name else of["type"]
        self._add(metadata, schema)

    def entry(self, *actions: Mapping[str, Any]) -> None:
        """Adds a version with some actions."""
        path = self.log / f"{len([*self.log.glob('*.json')]):020}.json"
        path.write_text("".join(f"{json.dumps(action)}\n" for action in actions))

    def metadata(self) -> dict[str, Any]:
        lines = (line for path in sorted(self.log.glob("*.json")) for line in path.read_text().splitlines())
        actions = map(json.loads, lines)
        return [action["metaData"] for action in actions if "metaData" in action][-1]

    def _add(self, metadata: Mapping[str, Any], schema: Any) -> None:
        self.entry({"metaData": {**metadata, "schemaString": json.dumps(schema)}})


@define(eq=False)
class TableQuery:
    """A query over a table in a folder, each of whose runs is one more over the same checkpoint."""

    spark: SparkSession
    root: Path
    text: str
    reports: list[EpochReport] = field(factory=list[EpochReport])

    def run(self, **options: Any) -> list[Row]:
        """Returns the rows of the output after one more run."""
        chosen = Options(
            once=True,
            sinks={"r": str(self.root / "out")},
            checkpoint=str(self.root / "checkpoint"),
            **options,
        )
        run(self.text, chosen, spark=self.spark, on_report=self.reports.append)
        return self.rows()

    def rows(self) -> list[Row]:
        return rows_in(self.root / "out")

    def simulated(self) -> list[Row]:
        """Returns the rows that the reference makes of the table, without an engine."""
        import shutil

        out = self.root / "simulated"
        shutil.rmtree(out, ignore_errors=True)
        simulate(self.text, Options(sinks={"r": str(out)}))
        return rows_in(out)

    @property
    def notes(self) -> str:
        return "\n".join(note for report in self.reports for note in report.notes)


def rows_in(out: Path) -> list[Row]:
    return sorted((item for item in read_output(out) if is_tuple(item)), key=lambda row: row["k"])
