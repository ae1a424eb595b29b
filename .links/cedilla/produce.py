"""A stream from its sender's side, without Spark: `Stream` checks tuples and markers before it writes them."""

from cedilla.runtime.tools.produce.stream import Stream

__all__ = ["Stream"]
