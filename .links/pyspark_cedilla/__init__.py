"""Found by PySpark, which looks for data sources in modules of such names: `spark.read.format("cedilla")`."""

from cedilla.runtime.hosts.embedding.data_source import DataSource as DefaultSource

__all__ = ["DefaultSource"]
