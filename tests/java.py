"""How the Java of a test runs."""

SHORT_LIVED = (
    "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=256m -XX:+UseSerialGC -XX:MetaspaceSize=512m"
    " -Xms1g -Xmn400m"
)
"""For a JVM that runs many small jobs once each: what the second compiler makes better never pays, and nothing is
gained by dropping code or by collecting beside the work. Spark's settings are those that users have."""
