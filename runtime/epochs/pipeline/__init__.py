"""Runs a program: discovers files, plans an epoch, runs it, commits it (design, section 5).

In: a compiled program and options. Out: committed epochs and their reports. Imports all that an epoch needs.
"""
