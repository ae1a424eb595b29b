"""How the Java of a test runs."""

import shlex

ONE_COMPILER = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:ReservedCodeCacheSize=256m"
"""For a JVM that runs some small jobs once each: what the second compiler makes better never pays, and nothing is
gained by collecting beside the work. The room for code is that of a JVM with both compilers: with one it has 48 MB by
default, which a server fills after some twenty plans, and then answers no call any more. Spark's settings are those
that users have."""
SHORT_LIVED = f"{ONE_COMPILER} -XX:MetaspaceSize=512m -Xms1g -Xmn400m"
"""For one that runs many of them, and has the memory to itself."""


def quick_java() -> str:
    """For one of Spark's that starts often: its classes come from the archive, where there is one."""
    from cedilla.runtime.engines.session import archive_options

    return shlex.join([*ONE_COMPILER.split(), *archive_options()])
