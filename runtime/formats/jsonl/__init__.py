"""JSON Lines as a source: tuples, markers and fields of blocks of lines."""
