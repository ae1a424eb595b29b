"""Parquet as a source: read by its footers and by the engine's own reader."""
