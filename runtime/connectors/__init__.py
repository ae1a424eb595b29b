"""Reads and writes streams: records of files and topics, their formats, and the stores that they are in.

In: paths and addresses of a query. Out: tuples and markers with their places; files and topics of output.
"""
