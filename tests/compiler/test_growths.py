"""What `explain --evolution` says of wider domains (theory N1)."""

from cedilla.compiler import compile_query
from cedilla.compiler.analysis.growths import growths

QUERY = """
stream sensors(ts: long, s: int in {1, 2}, t: double) from json "sensors";
SIDE placement(s: int, l: string) from json "placement";
located := sensors join placement on s;
emit aggregate[avg by l, ts except s](located) to json "average";
emit located to json "located";
"""


def test_who_waits_for_a_new_value_and_what_was_let_go() -> None:
    (growth,) = growths(compile_query(QUERY.replace("SIDE", "stream")).plan)
    assert (growth.source, growth.attribute) == ("sensors", "s")
    assert growth.waits == ("Aggregate aggregate (line 5)",)
    assert growth.lets_go == (("Join located (line 4)", "placement"),)


def test_rows_of_a_table_are_kept_for_it() -> None:
    (growth,) = growths(compile_query(QUERY.replace("SIDE", "table")).plan)
    assert growth.lets_go == ()
    assert growth.notes == ("Aggregate aggregate (line 5): what some have announced waits for it",)


def test_nothing_is_said_where_nothing_has_a_domain() -> None:
    text = QUERY.replace("SIDE", "table").replace(" in {1, 2}", "")
    assert list(growths(compile_query(text).plan)) == []
