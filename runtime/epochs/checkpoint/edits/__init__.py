"""The effects of an edited query on its checkpoint: which operators and outputs continue, and how sources change.

In: the stored plan and the edited one, a commit. Out: the changes, the commit to continue from. Imports `state`,
`accents`, `descriptions`, `domains`, `markers`, `sinks` and `sources`.
"""
