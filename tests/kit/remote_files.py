"""Files of a process for which the engine's default is another file system."""

from pathlib import Path

from cedilla.runtime.connectors.storage.files import Files


class Elsewhere(Files):
    """Files of a process for which the engine's default is another file system."""

    def __init__(self, root: Path) -> None:
        super().__init__()
        self.root = root

    def for_engine(self, path: str) -> str:
        return f"{self.root}{path}"
