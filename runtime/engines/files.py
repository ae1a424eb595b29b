"""Files wherever Spark finds them, through Hadoop's file system API: local folders, HDFS, object stores."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

from attrs import frozen
from pyspark.sql import SparkSession


@frozen
class FoundFile:
    """A file of a listing: its path, its modification time in milliseconds, its length in bytes."""

    path: str
    modified: int
    length: int


class Files:
    """File operations of one session; paths are strings as users write them."""

    def __init__(self, spark: SparkSession) -> None:
        self._jvm: Any = spark._jvm
        self._conf: Any = spark._jsc.hadoopConfiguration()  # type: ignore[attr-defined]
        # Looked up once: each step of a name is a message to the JVM.
        self._path: Any = self._jvm.org.apache.hadoop.fs.Path
        self._systems: dict[tuple[str, str], Any] = {}

    def _system(self, path: str) -> Any:
        place = urlsplit(path)[:2]
        if place not in self._systems:
            self._systems[place] = self._path(path).getFileSystem(self._conf)
        return self._systems[place]

    def exists(self, path: str) -> bool:
        return bool(self._system(path).exists(self._path(path)))

    def absolute(self, path: str) -> str:
        """The same place as a URI that does not depend on the current directory."""
        return str(self._system(path).makeQualified(self._path(path)).toString())

    def list(self, path: str) -> list[FoundFile]:
        """The visible files of a folder (or the file itself), by name; nothing where there is none."""
        if not self.exists(path):
            return []
        found = [
            FoundFile(str(s.getPath().toString()), int(s.getModificationTime()), int(s.getLen()))
            for s in self._system(path).listStatus(self._path(path))
            if s.isFile() and not str(s.getPath().getName()).startswith((".", "_"))
        ]
        return sorted(found, key=lambda file: file.path)

    def tree(self, path: str) -> list[FoundFile]:
        """The visible files of a folder and of those below it, by their paths; nothing where there is none."""
        return [*self.list(path), *(f for each in self._below(path) for f in self.tree(each))]

    def _below(self, path: str) -> list[str]:
        names = [name for name in self.folders(path, "") if not name.startswith((".", "_"))]
        return [f"{path.rstrip('/')}/{name}" for name in names]

    def folders(self, path: str, prefix: str) -> list[str]:
        """The names of a folder's folders that start with a prefix; nothing where there is none."""
        if not self.exists(path):
            return []
        statuses = self._system(path).listStatus(self._path(path))
        names = [str(s.getPath().getName()) for s in statuses if s.isDirectory()]
        return sorted(name for name in names if name.startswith(prefix))

    def make(self, path: str) -> None:
        self._system(path).mkdirs(self._path(path))

    def delete(self, path: str) -> None:
        """Remove a file or a folder with all in it, if it is there."""
        self._system(path).delete(self._path(path), True)

    def rename(self, old: str, new: str) -> None:
        """Move atomically; `new` must not exist."""
        if not self._system(new).rename(self._path(old), self._path(new)):
            raise OSError(f"{old} could not be renamed to {new}")

    def read(self, path: str) -> str:
        stream = self._system(path).open(self._path(path))
        try:
            return str(self._jvm.org.apache.commons.io.IOUtils.toString(stream, "UTF-8"))
        finally:
            stream.close()

    def edges(self, path: str, length: int, size: int) -> tuple[bytes, bytes | None]:
        """So many bytes from the beginning of a file and from its end; all of it and `None` where that is less."""
        stream = self._system(path).open(self._path(path))
        try:
            if length <= 2 * size:
                return bytes(stream.readNBytes(length)), None
            first = bytes(stream.readNBytes(size))
            stream.seek(length - size)
            return first, bytes(stream.readNBytes(size))
        finally:
            stream.close()

    def write(self, path: str, text: str) -> None:
        """Write a file in one step: aside, then renamed over what was there."""
        aside = self._path(f"{path}.writing")
        stream = self._system(path).create(aside, True)
        stream.write(bytearray(text.encode()))
        stream.close()
        system = self._system(path)
        if system.exists(self._path(path)):
            system.delete(self._path(path), False)
        self.rename(f"{path}.writing", path)


def name_of(path: str) -> str:
    """The last part of a path."""
    return path.rstrip("/").rpartition("/")[2]
