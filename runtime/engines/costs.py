"""What things cost: the sizes at which the runtime takes another way, all in one place.

The figures were found by measuring on two cores (docs/tuning-notes.md has what came out). They decide how work
is done, never what comes out: a law that holds for one of them holds for all, and tests set them to zero to see so.
"""

# --- the way in ----------------------------------------------------------------------------------------------

BLOCK = 1 << 22
"""Bytes of a file that are in memory at a time, and parsed together; more where a line is longer."""

PARSED_BY_DRIVER = 1 << 20
"""Bytes of an epoch's files of one source that the driver parses: they travel as a message, but no worker is asked."""

SEARCHED_BY_DRIVER = 1 << 28
"""Bytes of an epoch's files that the driver searches for markers; of more, workers do."""

PART = 1 << 25
"""Bytes of a large file that one task reads."""

KEPT_PARSED = 1 << 28
"""Bytes of an epoch's files of one source of which what was parsed stays in memory on Sail, which keeps nothing itself,
where it is read twice: about as many bytes, for two epochs."""

FILES_IN_EXPRESSION = 64
"""The numbers of so many files stand in the SQL of a scan; those of more are joined to it."""

STATISTICS_SIZE = 300
"""Levels and points of a region that are compared with the statistics of files; a larger one is left to the tuples."""

# --- Spark's settings for an epoch ---------------------------------------------------------------------------

PACKED = 8
"""How many bytes of JSON a byte of a columnar or compressed file holds, by and large."""

SMALL_EPOCH = 1 << 20
"""Bytes of input and state, as JSON would have them, below which generated code costs more than it saves."""

MEDIUM_EPOCH = 64 << 20
"""Bytes below which it does not pay to plan anew in the middle of a job, nor to have a task for less than `TASK`."""

TASK = 8 << 20
"""Bytes for one task of a medium epoch."""

# --- state ---------------------------------------------------------------------------------------------------

SENT_INPUT = 16 << 20
"""Bytes of input that may be sent to wherever state is: Spark collects them in the driver's JVM first."""

LARGE_STATE = 1 << 20
"""Bytes of state that cost more to move than what few new tuples need to be sent to them."""

MATCHED_AT_ONCE = 4 << 20
"""Of so few bytes of waiting tuples, those that have met a match are taken out at once."""

SEGMENTS = 8
"""A state of more segments is rewritten as one, without what is purged."""

RESTING = 64
"""A large segment is rewritten, for what is purged of it, after so many epochs, where smaller ones are after some."""

COMPARED_POINTS = 256
"""A region of more points is not compared with the bounds of segments: that would cost more than it saves."""

LOOKED_UP_BOXES = 64
"""No more boxes of an epoch's punctuations than this are looked up in the state of a sort."""

# --- accents at many points ----------------------------------------------------------------------------------

TABLE_CHANGES = 16
"""Changed points that stand beside a broadcast table, before a new table is considered ..."""

TABLE_SHARE = 10
"""... and built where they are more than one in so many of all points."""

TREE_FILE = 500
"""Points from which on a tree of a commit record has a file of its own ..."""

TREE_FILE_SHARE = 50
"""... which is written anew when more than one in so many points has changed."""
