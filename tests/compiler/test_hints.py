"""A hint proposes an edit only if the edited statement compiles; else it says what can follow."""

import re

import pytest

from cedilla.compiler.compile import compile_query, is_right
from tests.kit.errors import error_text

SOURCES = """\
stream orders(at: timestamp, id: long, customer: int in {1, 2, 3}, amount: double, weight?: double unit kg,
  state: string in {"new", "paid"}) from json "orders" punctuated on at;
table customers(customer: int, name: string, city: string) from json "customers";
"""


@pytest.mark.parametrize(
    ("statement", "hint"),
    [
        ('emit project[amount a](orders) to json "o";', "missing `as` before `a`"),
        ('emit project[id amount](orders) to json "o";', "missing `as` or `,` before `amount`"),
        ('emit project[amount AS a, state AS s](orders) to json "o";', "`as`"),
        ('emit aggregate[avg(amount) as m by state(orders) to json "o";', "missing `]` before `(`"),
        ('emit window)5 minutes on at as w](orders) to json "o";', "did you mean `[`?"),
        ('emit top[2 by per state amount desc](orders) to json "o";', "`per`"),
        ('emit aggregate[avg except id, at by state](orders) to json "o";', "`[avg by state except id, at]`"),
        ('emit project[initcap state as s](orders) to json "o";', "`initcap(state)`"),
        ('emit project[position("a" in state) as p](orders) to json "o";', "did you mean `,`?"),
        ('emit select[state in {new", "paid"}](orders) to json "o";', '`"new"`'),
        ('orders2(a: int) from json "s";', "missing `stream` or `table` before `orders2`"),
        ('stream s(a: int;\n b: int) from json "s";', "did you mean `,`?"),
        ('stream s(a: int) from "s" json;', '`json "s"`'),
    ],
)
def test_the_edit_that_compiles_is_the_hint(statement: str, hint: str) -> None:
    assert hint in error_text(lambda: compile_query(SOURCES + statement))


@pytest.mark.parametrize(
    ("statement", "claim"),
    [
        ('emit select[amount > 5](orders o) to json "o";', "missing"),
        ('emit select[amount, state](orders) to json "o";', "did you mean"),
        ('emit sum(amount) by (customer) to json "o";', "did you mean"),
        ('emit project[amount ** 2 as s](orders) to json "o";', "leave"),
        ('emit select[amount > .5](orders) to json "o";', "leave"),
        ('emit select[amount != 5 xor customer = 3](orders) to json "o";', "did you mean `or`"),
        ('emit window[300 as w](orders) to json "o";', "missing `rows`"),
        ('stream s(a: optional int) from json "s";', "leave `optional` out"),
        ('stream s(t: double unit in u, u: string) from json "s";', "leave `in` out"),
        ('stream s(id: int in {1-3}) from json "s";', "missing `,`"),
        ('emit orders outer join customers on customer to json "o";', "leave `outer` out"),
        ('emit select[np.where(amount > 5, 1, 0) = 1](orders) to json "o";', "where(np"),
        ('emit project[sind(amount) as s](orders) to json "o";', "did you mean `sin`"),
    ],
)
def test_an_edit_of_another_meaning_is_not_proposed(statement: str, claim: str) -> None:
    assert claim not in error_text(lambda: compile_query(SOURCES + statement))


LISTS = 'stream r(k: int, v: double, tags?: list of string) from json "r";\n'


@pytest.mark.parametrize(
    ("statement", "hint"),
    [
        ('emit unnest[tags](r) to json "o";', "`unnest[tags as tag](R)`"),
        (
            'emit running[sum(v) on k](r) to json "o";',
            "`running[avg(kwh) as mean, sum(n) as total per meter on ts over last 5 rows](R)`",
        ),
        ('accent r from "changes.rqm"; emit r to json "o";', '`from file "path"`'),
        ('emit select[tags = "a"](r) to json "o";', "`unnest[tags as tag](R)` makes tuples of them"),
        ('emit sort[tags](r) to json "o";', "without `?`: `tags: list of string`"),
    ],
)
def test_a_hint_is_about_its_own_operator_and_can_be_followed(statement: str, hint: str) -> None:
    assert hint in error_text(lambda: compile_query(LISTS + statement))


def test_two_slips_of_one_kind_are_one_repair() -> None:
    text = error_text(lambda: compile_query(SOURCES + 'stream s(a int, b double, c string) from json "s";'))
    assert re.match(r"RQ\d+ missing `:` before `int`", text)


def test_a_text_is_right_from_a_place_on() -> None:
    text = SOURCES + 'wrong := select[nothing > 1](orders);\nemit orders to json "o";'
    assert is_right(text, text.index("emit"))
    assert not is_right(text, text.index("wrong"))


def test_the_unit_of_an_unused_constant_is_checked() -> None:
    assert "did you mean `minutes`?" in error_text(
        lambda: compile_query(SOURCES + 'let pause = 5 minuts; emit orders to json "o";')
    )


def test_a_string_is_proposed_where_a_string_is_compared() -> None:
    assert "in quotes" in error_text(
        lambda: compile_query(SOURCES + 'emit select[state = paid](orders) to json "o";')
    )
    assert "in quotes" not in error_text(
        lambda: compile_query(SOURCES + 'emit project[round(amount, digits) as r](orders) to json "o";')
    )
