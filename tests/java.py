"""How the Java of a test runs."""

import shlex

ONE_COMPILER = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""For a JVM that runs some small jobs once each: what the second compiler makes better never pays, and nothing is
gained by collecting beside the work. Spark's settings are those that users have."""
SHORT_LIVED = f"{ONE_COMPILER} -XX:ReservedCodeCacheSize=256m -XX:MetaspaceSize=512m -Xms1g -Xmn400m"
"""For one that runs many of them, and has the memory to itself."""


def quick_java() -> str:
    """For one of Spark's that starts often: its classes come from the archive, where there is one."""
    from cedilla.runtime.engines.session import archive_options

    return shlex.join([*ONE_COMPILER.split(), *archive_options()])
