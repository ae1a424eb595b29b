"""Shared parts of formats of lines: blocks of whole lines with positions, and statistics of parsed tuples."""
