"""Data points of OpenTelemetry in the Collector's JSON: each line is a request with many points."""
