"""JSON Lines (design, section 6)."""

from __future__ import annotations

import json
from typing import ClassVar

from pyspark.sql import DataFrame

from cedilla.runtime.formats.sinks.sink import TIMESTAMP, TextSink


class JsonLinesSink(TextSink):
    """A tuple is an object, a marker an object with one key."""

    extension: ClassVar[str] = "jsonl"

    def write(self, tuples: DataFrame, folder: str) -> None:
        tuples.write.option("timestampFormat", TIMESTAMP).json(folder)

    def accent(self, text: str) -> str:
        return json.dumps({"$accent": text}, ensure_ascii=False)

    def punctuation(self, text: str) -> str:
        return json.dumps({"$punctuation": text}, ensure_ascii=False)
