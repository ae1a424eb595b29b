"""XML as a source: elements as the engine reads them."""
