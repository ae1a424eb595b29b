"""The contents of a stream, read without Spark: lines of files, JSON values, markers, reasons for rejection.

In: local files and texts. Out: values, markers, diagnostics. Imports only the compiler.
"""
