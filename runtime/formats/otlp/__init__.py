"""Data points of OpenTelemetry, in the JSON that the Collector writes: requests with many points on a line."""
