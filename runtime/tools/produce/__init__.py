"""A stream from its sender's side: checks tuples and markers before writing them.

In: calls. Out: lines of JSON at the end of a stream: a file, a folder, a topic, or an object with a `write`. Errors
are raised, and invalid lines never written. Imports `records`, `stream_tools`, `topics`, `options` and `simulation`.
"""
