"""What tests share: harnesses, oracles, servers of this machine, and generators."""

from pathlib import Path

ROOT = Path(__file__).parents[2]
"""The folder of the repository."""
