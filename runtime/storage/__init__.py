"""Where files live: local folders, object stores, HDFS, tables of Delta, footers of Parquet files.

In: paths as users write them. Out: files, listings, metadata; a refusal with a code where one cannot be read or
written. No session is opened here; one is asked only whether it writes to where files are read (`written`). Imports
`items`.
"""
