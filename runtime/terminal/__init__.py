"""What people type and see: options, places, reports of epochs, messages.

In: the command line's values, reports. Out: checked options, text. Imports `items` and `checkpoint`.
"""
