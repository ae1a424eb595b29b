"""All cost thresholds: the sizes at which the runtime switches to another method.

The values were measured on two cores (tests/benchmarks/tuning-notes.md has the results). They decide how work is done,
but never the result. Every law holds for all values, and tests set them to zero to check that.
"""

# --- reading -------------------------------------------------------------------------------------------------

BLOCK = 1 << 22
"""Bytes of a file that are in memory at a time and parsed together; more if a line is longer."""

SMALL_BLOCK = 1 << 16
"""Bytes of a block below which to call a parser costs more than to parse it. Smaller ones are parsed together."""

PARSED_BY_DRIVER = 1 << 20
"""Maximum bytes of an epoch's files of one source that the driver parses: they are sent as a message, without a
worker."""

KEPT_PARSED = 1 << 28
"""Maximum bytes of an epoch's files of one source whose parsed rows stay in memory on Sail, of three epochs at
once, where its tasks read them. More rows become Parquet files, as all do on other engines."""

SEARCHED_BY_DRIVER = 1 << 28
"""Maximum bytes of an epoch's files that the driver searches for markers; above that, workers do."""

KEPT_SEARCHED = 1 << 26
"""Maximum bytes of an epoch's files that stay in memory from the search for markers until they are parsed."""

PART = 1 << 25
"""Bytes of a large file that one task reads."""

FILES_IN_EXPRESSION = 64
"""Maximum number of files whose numbers are in the SQL of a scan; the numbers of more files are joined to it."""

STATISTICS_SIZE = 300
"""Maximum levels and points of a region that is compared with file statistics; larger ones are checked for each
tuple."""

# --- Spark's settings for an epoch ---------------------------------------------------------------------------

PACKED = 8
"""Typical number of JSON bytes for a byte of a columnar or compressed file."""

SMALL_EPOCH = 1 << 20
"""Bytes of input and state, measured as JSON, below which generated code costs more than it saves."""

MEDIUM_EPOCH = 64 << 20
"""Bytes below which replanning in the middle of a job, or tasks smaller than `TASK`, cost more than they save."""

TASK = 16 << 20
"""Bytes for one task of a medium epoch. Below that, nothing is shuffled: a second task costs more than it saves."""

COUNTED_BY_DRIVER = 16 << 20
"""Maximum rows of Parquet files in an epoch whose values the driver counts, at 100 million a second."""

# --- state ---------------------------------------------------------------------------------------------------

SENT_INPUT = 16 << 20
"""Maximum bytes of input that are sent to the state's partitions; Spark first collects them in the driver's JVM."""

LARGE_STATE = 1 << 20
"""Bytes of state above which moving it costs more than sending a few new tuples to it."""

MATCHED_AT_ONCE = 4 << 20
"""Maximum bytes of waiting tuples for removing matched ones at once."""

SEGMENTS = 8
"""Maximum number of segments of a state, without large ones of rows that are not merged; more are rewritten as one,
without purged rows."""

REWRITTEN = 128 << 20
"""Maximum bytes of segments that an epoch rewrites as one, if their rows are not merged."""

RESTING = 64
"""Number of epochs after which a large segment is rewritten without its purged rows."""

MATERIALIZED = 1 << 20
"""Bytes of an epoch's input, measured as JSON, above which Sail writes partial results that several of its jobs read,
because it would compute them for each one."""

DEEP = 3
"""Operators with state, one above the other, below which Sail writes the rows once, because several jobs read them and
each would compute all of these operators."""

COMPARED_POINTS = 256
"""Maximum points of a region that is compared with the bounds of segments; for more, that would cost more than it
saves."""

# --- accents at many points ----------------------------------------------------------------------------------

TABLE_CHANGES = 16
"""Number of points changed since a broadcast table was built, above which a new table is considered ..."""

TABLE_SHARE = 10
"""... and built if more than one in this number of all points has changed."""

TREE_FILE = 500
"""Minimum number of points of a tree of a commit record to have its own file ..."""

TREE_FILE_CELLS = 64
"""... or of cells, because each may have a long history, ..."""

TREE_FILE_PIECES = 16
"""... which is rewritten if it has at least this number of pieces and one is another, ..."""

TREE_FILE_SHARE = 50
"""... or if more than one in this number of points has changed."""
