"""What an output has told its readers, and the markers that it must tell next; Drops that state holds back.

In: facts before, during and after an epoch. Out: `SinkState`, markers as wire text. Imports `descriptions` and
`sources`.
"""
