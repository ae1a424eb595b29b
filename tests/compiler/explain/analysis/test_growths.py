"""The answers of `explain --evolution` about wider domains (theory N1)."""

from cedilla.compiler import compile_query
from cedilla.compiler.explain.analysis.growths import growths

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


TABLE = """
table devices(s: int, l: string) from json "devices";
stream sensors(ts: long, s: int in devices.s, t: double) from json "sensors";
stream others(ts: long, s: int in devices.s, u: double) from json "others";
stream more(s: int, v: double) from json "more";
emit aggregate[avg by l, ts except s](sensors join devices on s) to json "average";
emit sensors join others on s, ts to json "both";
emit sensors join more on s to json "each";
"""


def test_a_table_lets_all_domains_that_come_from_it_grow_at_once() -> None:
    """The join of two streams with domains from that table has therefore forgotten nothing."""
    growth, other = growths(compile_query(TABLE).plan)
    assert (growth.source, growth.attribute, growth.table) == ("sensors", "s", "devices")
    assert growth.lets_go == other.lets_go == (("Join join_3 (line 8)", "more"),)
    assert growth.notes == (
        "by a new file of devices",
        "Aggregate aggregate (line 6): what some have announced waits for it",
        "Join join_3 (line 8): what came of more for it has to be sent again",
        "as a relation devices stays what it was at the start",
    )
