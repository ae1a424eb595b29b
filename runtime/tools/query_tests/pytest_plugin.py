"""Shows the sections of pages `test_*.md` with queries to pytest; an entry point of the package names it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """Returns a collector for a page of tests."""
    if (
        file_path.suffix == ".md"
        and file_path.name.startswith("test_")
        and "```rq" in file_path.read_text("utf-8", errors="replace")
    ):
        return Page.from_parent(parent, path=file_path)
    return None


class Page(pytest.File):
    """A page; each section that expects something is a test."""

    def collect(self) -> Iterator[pytest.Item]:
        from cedilla.runtime.tools.query_tests.pages import checked_cases

        for case in checked_cases(self.path):
            yield Section.from_parent(self, name=case.title, case=case)


class Section(pytest.Item):
    """A section of a page."""

    def __init__(self, *, case: Any, **options: Any) -> None:
        super().__init__(**options)
        self.case = case

    def runtest(self) -> None:
        """Runs the section; raises `Differs` with all differences."""
        from cedilla.runtime.tools.query_tests.cases import failures

        texts = [failure.text() for failure in failures(self.case)]
        if texts:
            raise Differs("\n\n".join(texts))

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """Returns the differences without a trace of Python."""
        return str(excinfo.value) if excinfo.errisinstance(Differs) else super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int | None, str]:
        """Returns the place of the test for reports."""
        return self.path, None, f"{self.path.name}: {self.name}"


class Differs(Exception):
    """A query gives other results than its page expects."""
