"""CSV as a source: records in blocks of bytes, with names from their file's first line."""
