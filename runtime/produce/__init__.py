"""A stream from its sender's side: tuples and markers are checked before they are written.

In: calls. Out: lines of JSON at the end of a stream, which is a file, a folder, a topic, or whatever has a `write`;
what is wrong is raised and never written. Imports `items`, `reference`, `streams`, `terminal` and `topics`.
"""
