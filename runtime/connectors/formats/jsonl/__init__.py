"""JSON Lines as a source: tuples, markers and fields in blocks of lines."""
