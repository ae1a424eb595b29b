"""The terminal: options of commands, messages and reports as text or JSON, and the command line of a program.

In: the command line's values, reports. Out: options of a run, text. Imports `storage`, `markers`, `checkpoint`,
`spark`, `options` and `pipeline`.
"""
