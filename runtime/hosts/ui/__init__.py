"""Serves the live page of a run and its metrics, in a process of its own that only reads the checkpoint.

In: the path of a checkpoint. Out: a page, its events, metrics. Needs the extra `[ui]`, which nothing else imports.
Imports everything but `cli`.
"""
