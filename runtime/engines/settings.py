"""Settings of a session that results depend on, whoever computes them."""

RESULTS = {
    # Timestamps in files, markers and state are in UTC.
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.ansi.enabled": "true",
    # Attributes `t` and `T` are two.
    "spark.sql.caseSensitive": "true",
    # A sum of decimals keeps its last digit.
    "spark.sql.decimalOperations.allowPrecisionLoss": "false",
    # What Spark writes by itself has no statistics, and others have given it up.
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
}
