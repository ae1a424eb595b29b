"""Access to files: local folders, object stores, HDFS, Delta tables, footers of Parquet files.

In: paths as users write them. Out: files, listings, metadata; a coded error if one cannot be read or written. This
package opens no session, and uses one only to check that the engine writes to the same place (`written`). Imports
`records` and `spark`.
"""
