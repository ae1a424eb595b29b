"""Shows past and possible behaviour: `trace`, `status` and `verify`.

In: a plan, a checkpoint, markers. Out: answers as values and text. Imports everything but `cli`.
"""
