"""The standard error of Java: remarks about itself are left out, errors are not."""

from __future__ import annotations

import subprocess
import sys

import pytest

from cedilla.runtime.engines.spark.java_messages import without_remark_lines

REMARKS = """\
WARNING: Using incubator modules: jdk.incubator.vector
Using Spark's default log4j profile: org/apache/spark/log4j2-pyspark-defaults.properties
26/01/02 10:11:12 WARN NativeCodeLoader: Unable to load native-hadoop library for your platform... using builtin-java
26/01/02 10:11:12 WARN Utils: Service 'SparkUI' could not bind on port 4040.
java.net.BindException: Address already in use
\tat java.base/sun.nio.ch.Net.bind0(Native Method)
\t... 12 more
Setting default log level to "WARN".
To adjust logging level use sc.setLogLevel(newLevel). For SparkR, use setLogLevel(newLevel).
"""
ERRORS = """\
10:11:13 ERROR Executor: Exception in task 0.0
java.lang.IllegalStateException: no
\tat org.example.Main.main(Main.java:1)
Caused by: java.lang.Error: because
Error occurred during initialization of VM
"""


def test_remarks_and_their_traces_are_left_out() -> None:
    lines = [line.encode() for line in (ERRORS + REMARKS + ERRORS).splitlines(keepends=True)]
    assert b"".join(without_remark_lines(lines)).decode() == ERRORS + ERRORS


PROGRAM = """
import os, signal, subprocess, sys, time
from cedilla.runtime.engines.spark.java_messages import without_remarks
child = [sys.executable, "-c", "import sys; print(sys.argv[1], file=sys.stderr)"]
with without_remarks():
    subprocess.run([*child, "Setting default log level to WARN"])
    subprocess.run([*child, "an error"])
    sys.stderr.write("Python's own\\n")
    late = subprocess.Popen([sys.executable, "-c", "import sys; sys.stdin.read(); print('late', file=sys.stderr)"],
                            stdin=subprocess.PIPE)
sys.stderr.write("afterwards\\n")  # at once, as the filter may still write a line; `print` writes the end on its own
late.communicate()
time.sleep(0.5)
if len(sys.argv) > 1:
    try:
        with without_remarks():
            subprocess.run([*child, "why it does not start"])
            raise KeyboardInterrupt if sys.argv[1] == "stopped" else RuntimeError
    except (KeyboardInterrupt, RuntimeError):
        print("over", file=sys.stderr)
        time.sleep(0.5)
"""


@pytest.mark.rest
@pytest.mark.parametrize(
    ("how", "more"),
    [([], set[str]()), (["failed"], {"why it does not start", "over"}), (["stopped"], {"over"})],
)
def test_a_child_writes_through_the_filter_for_all_its_life(how: list[str], more: set[str]) -> None:
    """A process that starts inside is filtered; one that cannot start reports the reason; after a stop nothing is
    reported."""
    done = subprocess.run([sys.executable, "-c", PROGRAM, *how], capture_output=True, text=True, check=True)
    lines = set(done.stderr.splitlines())
    if how == ["stopped"]:  # what was written before may have been forwarded already
        lines.discard("why it does not start")
    assert lines == {"an error", "Python's own", "late", "afterwards"} | more
