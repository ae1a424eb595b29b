"""Counts and checksums of files that the engine has written: every byte is read. Tasks of a cluster read large files,
so that the driver does not read what the whole cluster has written."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Sequence
from functools import cache

import pyarrow as pa
from attrs import frozen
from pyspark.sql import SparkSession

from cedilla.runtime.connectors.formats.parts import FewRows
from cedilla.runtime.connectors.records.lines import local_path
from cedilla.runtime.connectors.storage.files import Files, FoundFile, for_each, name_of
from cedilla.runtime.engines.spark import costs
from cedilla.runtime.engines.spark.connect import is_far


def counts(spark: SparkSession, files: Files, listed: Sequence[FoundFile], sign: bytes) -> list[int]:
    """Returns how often some bytes are in each of some files of one folder."""
    if not _by_tasks(spark, listed):
        path = listed[0].path if listed else ""
        return for_each(listed, lambda f: files.count(f.path, sign, f.length) if f.length else 0, path)
    rows = _Counts(tuple(listed), _of("count"), sign).all(spark, by_driver=False)
    return [count for _, count in sorted(rows)]


def checksum(spark: SparkSession, files: Files, listed: Sequence[FoundFile]) -> str | None:
    """Returns what `Files.checksum` does."""
    if not _by_tasks(spark, listed) or local_path(listed[0].path) is None:
        return files.checksum(listed)
    rows = _Checksums(tuple(listed), _of("checksum")).all(spark, by_driver=False)
    total = 0
    for file, (_, of_content) in zip(listed, sorted(rows), strict=True):
        total = joined(zlib.crc32(name_of(file.path).encode(), total), of_content, file.length)
    return f"{total:08x}"


def _by_tasks(spark: SparkSession, listed: Sequence[FoundFile]) -> bool:
    return sum(file.length for file in listed) > costs.PARSED_BY_DRIVER and is_far(spark)


def _of(name: str) -> pa.Schema:
    return pa.schema([("number", pa.int32()), (name, pa.int64())])


@frozen
class _Counts(FewRows[FoundFile]):
    sign: bytes

    def rows(self, part: FoundFile, number: int) -> Iterable[tuple[int, int]]:
        yield number, Files().count(part.path, self.sign, part.length)


@frozen
class _Checksums(FewRows[FoundFile]):
    def rows(self, part: FoundFile, number: int) -> Iterable[tuple[int, int]]:
        total = 0
        for block in Files().blocks(part.path):
            total = zlib.crc32(block, total)
        yield number, total


# A checksum of zlib is the remainder of a polynomial over bits: that of two texts follows from theirs.

_POLYNOMIAL, _ONE = 0xEDB88320, 1 << 31


def joined(first: int, second: int, length: int) -> int:
    """Returns the checksum of two texts, one after the other. `length`: of the second, in bytes.

    >>> joined(zlib.crc32(b"one "), zlib.crc32(b"two"), 3) == zlib.crc32(b"one two")
    True
    """
    return _product(_shift(8 * length), first) ^ second


def _product(one: int, other: int) -> int:
    """Returns the product of two remainders; the highest bit has the lowest power."""
    total = 0
    while one:
        if one & _ONE:
            total ^= other
        one = one << 1 & 0xFFFFFFFF
        other = other >> 1 ^ (_POLYNOMIAL if other & 1 else 0)
    return total


def _shift(bits: int) -> int:
    """Returns the remainder that moves another one by some bits."""
    total = _ONE
    for power in range(bits.bit_length()):
        if bits >> power & 1:
            total = _product(_square(power), total)
    return total


@cache
def _square(power: int) -> int:
    """Returns the remainder of the square of the square and so on, `power` times, of the polynomial x."""
    return _ONE >> 1 if power == 0 else _product(_square(power - 1), _square(power - 1))
