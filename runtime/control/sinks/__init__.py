"""The markers that an output has announced and those that it announces next; Drops that state delays.

In: facts before, during and after an epoch. Out: `SinkState`, markers as wire text. Imports `descriptions`,
`sources` and `records`.
"""
