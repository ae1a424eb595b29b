"""An archive of the classes that Spark loads where it starts: a Java that maps it into memory starts in half the time.

`python -m cedilla.runtime.epochs.pipeline.class_archive FILE` writes one, in a minute; sessions use it where
CEDILLA_CLASSES names it. It fits one Java and one PySpark: Java itself leaves aside what does not fit, so it can only
save time.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

from pyspark import SparkContext

from cedilla.runtime.engines.spark.session import ARCHIVE
from cedilla.runtime.epochs.options.options import Options
from cedilla.runtime.epochs.pipeline.program import run

_QUERY = """
stream a(ts: long, k: int, x: double) from json "{root}/in" punctuated on ts;
stream b(ts: long, k: int) from json "{root}/in" punctuated on ts;
joined := select[x > 0](a join b on ts, k);
emit aggregate[avg(x) as mean by w](window[10 on ts as w](joined)) to json "{root}/out";
"""
"""Files are read and written, state too, rows are sent to others and grouped."""


def write(file: Path) -> None:
    """Run a small query, and archive what Java has loaded by then. The file appears when it is whole: Java does not
    survive one that is cut off."""
    file.parent.mkdir(parents=True, exist_ok=True)
    os.environ.pop(ARCHIVE, None)
    with tempfile.TemporaryDirectory(prefix=".archive-", dir=file.parent) as scratch:
        root, archive = Path(scratch), Path(scratch) / "classes.jsa"
        (root / "in").mkdir()
        for number in range(3):
            rows = [{"ts": 10 * number + k, "k": k, "x": 1.5} for k in range(5)]
            items: list[dict[str, Any]] = [*rows, {"$punctuation": f"[ts < {10 * number + 5}]"}]
            (root / "in" / f"{number}.jsonl").write_text("".join(json.dumps(item) + "\n" for item in items))
        # It reports each class that it leaves out.
        quiet = "-Xlog:disable -Xlog:all=error:stderr"
        os.environ["SPARK_SUBMIT_OPTS"] = f"-XX:ArchiveClassesAtExit='{archive}' {quiet}"
        run(
            _QUERY.format(root=root),
            Options(once=True, files_per_epoch=1, checkpoint=str(root / "checkpoint")),
        )
        gateway: Any = SparkContext._gateway
        gateway.shutdown()
        gateway.proc.stdin.close()
        gateway.proc.wait()
        archive.replace(file)


if __name__ == "__main__":
    write(Path(sys.argv[1]))
