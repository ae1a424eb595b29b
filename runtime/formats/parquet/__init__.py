"""Parquet as a source: by its footers, and by the engine's own reader."""
