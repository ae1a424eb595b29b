"""Queries inside other programs: frames as sources and results, batches of another stream, notebooks."""
