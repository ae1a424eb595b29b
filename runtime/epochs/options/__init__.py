"""Reads the wishes of a user: the options of a run, the places that it may read and write, and checks of both.

In: values of options, a plan. Out: the plan with other paths and settings; a coded error for what is not allowed or
cannot be. Imports `records` and `storage`.
"""
