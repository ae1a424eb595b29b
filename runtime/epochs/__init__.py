"""Runs a query epoch by epoch: decodes input, computes with state, writes output, and commits.

In: a compiled program and options. Out: committed epochs and their reports. No host and no tool is known here.
"""
