"""Paragraphs and tables that fit a width: nothing is lost, and only a word that is longer goes beyond it."""

from hypothesis import given
from hypothesis import strategies as st

from cedilla.compiler.explain.wrapping import laid_out, wrapped

WORDS = st.lists(st.text("abc,", min_size=1, max_size=30), max_size=12).map(" ".join)
ROWS = st.integers(1, 4).flatmap(lambda n: st.lists(st.tuples(*[WORDS] * n), min_size=1, max_size=4))


@given(WORDS, st.integers(5, 80))
def test_a_paragraph_fits(text: str, width: int) -> None:
    lines = wrapped(text, width, "  ")
    assert " ".join(lines).split() == text.split()
    assert all(len(line) <= width or " " not in line.strip() for line in lines)
    assert all(line.startswith("  ") for line in lines[1:])


@given(ROWS, st.integers(20, 120))
def test_a_table_fits(rows: list[tuple[str, ...]], width: int) -> None:
    shown = laid_out(rows, width)
    assert len(shown) == len(rows)
    for row, lines in zip(rows, shown, strict=True):
        assert sorted(" ".join(lines).split()) == sorted(" ".join(row).split())
        assert all(len(line) <= width or " " not in line.strip() for line in lines)


def test_a_column_with_room_is_wrapped_in_place() -> None:
    rows = [("a", "word " * 12), ("bb", "short")]
    first, second = laid_out(rows, 50)
    assert second == ["  bb   short"]
    assert [len(line) - len(line.lstrip()) for line in first] == [2, 7]


def test_without_room_the_last_cell_is_below_unless_it_fits_its_row() -> None:
    rows = [("a" * 30, "word " * 12), ("bb", "short")]
    first, second = laid_out(rows, 50)
    assert first[0] == "  " + "a" * 30
    assert first[1].startswith("      word word")
    assert second == ["  bb" + " " * 31 + "short"]
