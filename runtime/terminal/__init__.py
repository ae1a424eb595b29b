"""The user interface: options, checks of paths, reports of epochs, messages.

In: the command line's values, reports. Out: checked options, text. Imports `records`, `storage` and `checkpoint`.
"""
