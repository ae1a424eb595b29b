"""The seeds of soak tests: new ones for each `make soak`, which prints the first; `make soak SEED=n` repeats them."""

import os

SEED = int(os.environ.get("SEED", "100"))


def soak_seeds(count: int) -> range:
    """Returns a number of seeds, from the first of this run on."""
    return range(SEED, SEED + count)
