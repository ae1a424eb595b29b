"""XML as a source: elements as blocks of bytes, as markers and as batches."""
