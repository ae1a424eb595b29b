"""CSV as a source: records of blocks of bytes, with the names of their file's first line."""
