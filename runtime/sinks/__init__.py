"""Sinks, one file per format."""
