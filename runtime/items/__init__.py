"""What a stream is made of, read without Spark: lines of files, JSON values, markers, reasons for rejection.

In: local files and texts. Out: values, markers, diagnostics. Imports only the compiler.
"""
