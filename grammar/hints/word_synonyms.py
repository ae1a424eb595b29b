"""Words in expressions and between the parts of an operator that other languages have. For hints only."""

from __future__ import annotations

from cedilla.grammar.hints.synonyms import CONVERTED, by_word
from cedilla.grammar.syntax import operator_forms


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_PATTERN = "a pattern is compared by `like(s, 'a%')`, the opposite is `not like(s, 'a%')`"
_REGEX = "a regular expression is compared by `rlike(s, '[a-z]+')`, the opposite is `not rlike(s, '[a-z]+')`"
_CHOICE = "a choice is written `if(condition, a, b)` or `case when condition then a else b end`"
OVER = (
    "functions of the tuples up to each are `running[sum(x) as total per k on at](R)`, of groups "
    "`aggregate[sum(x) as total by k, w](R)`, over windows `window[5 minutes on at as w](R)`; the best of each group "
    "are `top[1 by at desc per k](R)`"
)
_CAST = "a value is converted by `double(x)`, `int(x)`, `string(x)`"
SIGNS = by_word(
    {
        "eq equals equal": "equality is written `=`",
        "ne neq unequal": "inequality is written `!=`",
        "gt greater above more after larger": "it is written `>`",
        "lt less below before smaller under": "it is written `<`",
        "ge gte geq": "it is written `>=`",
        "le lte leq": "it is written `<=`",
    }
)
"""Words that are written for signs of comparisons elsewhere."""
OPERANDS = SIGNS | by_word(
    {
        "like likes startswith endswith contains starts ends glob": _PATTERN,
        "ilike": "`ilike(s, 'a%')` compares with a pattern, in capitals or not",
        "rlike regexp regex matches match similar matching": _REGEX,
        "isnull notnull isnotnull null defined": "`x is null` and `x is not null` ask for it",
        "div idiv": "`floor(a / b)` divides whole numbers",
        "mod modulo rem": "the remainder is written `a % b`",
        "xor": "one of two conditions is written `(a or b) and not (a and b)`",
        "over": OVER,
        "filter": "a condition is part of the call: `count(where t > 90)`, `sum(x where t > 90)`",
        "is": "equality is written `=`",
        "if unless": _CHOICE,
        "?": _CHOICE,
        "??": "the first value that is defined is `coalesce(a, b)`",
        "to ::": f"{_CAST}; {CONVERTED}",
        "from for": "arguments are parted by commas: `f(a, b)`",
        "[": "an element of a list is `element_at(xs, 1)`, a part of a string `substring(s, 1, 3)`; a function is "
        "written `sum(x)`",
        "at": "times in a query are always in UTC",
        "plus minus times": "arithmetic is written `a + b`, `a - b`, `a * b`",
        "collate": "strings are compared letter by letter; `lower(s)` makes upper and lower case equal",
        "escape": "a sign is escaped by `\\` in a pattern: `like(s, '10\\\\%')`",
        "within": "a range is written `x in [low, high]`; times are grouped by `window[5 minutes on at as w](R)`",
        "inside": "several values are written `x in {1, 2, 3}`, a range `x in [low, high]`",
    }
)
"""Words after an operand in other languages."""
CONDITIONS = by_word(
    {
        "EQUAL COMPARATOR": "comparisons are joined by `and`: `1 < t and t < 5`, or by `or`; `||` joins strings",
        ",": "conditions are joined by `and`, several values are `x in {1, 2}`, a range `x in [1, 5]`; a number has no "
        "commas: `1000`",
    }
)
"""Signs after a condition in other languages."""

LEADING = by_word(
    {
        "distinct unique": "equal tuples are left out by `distinct(project[a, b](R))`, equal values by "
        "`count(distinct x)`",
        "if": "a choice is written `if(condition, x, y)`, with commas",
        "exists": "tuples with a partner are `A semi join B on k`, those without one `A anti join B on k`",
        "select": "a query has no queries inside of expressions: tuples with a partner are `A semi join B on k`",
        "interval": "a length of time is a number and a unit, without quotes: `5 minutes`",
        "timestamp": 'a time is a string in ISO form: `at > "2025-01-31T12:00:00Z"`',
        "date": 'a date is a string in ISO form: `day > "2025-01-31"`',
        "set let add compute new var def": "a name comes after its expression: `t * 2 as u`",
        "lambda": "an expression names attributes directly: `t > 90`",
        "all": "all attributes are `*`: `project[*, t * 2 as u](R)`",
        "only": "attributes are chosen by `project[a, b](R)`",
        "top": "the first of an order are `top[10 by t desc per l](R)`",
        "between": "a range is written `x between 1 and 5`, or `x in [1, 5]`",
        "like": _PATTERN,
        "f": "texts are put together by `concat(s, string(x))`, or `s || string(x)`",
    }
)
"""Words before an operand in other languages."""
LEADING_ANYWHERE = {word: LEADING[word] for word in ("interval", "select")}
"""The words among these that are never attributes."""

WORDS = _words(
    "and or not in is null between as on by to from join union minus intersect case when then else end "
    "desc asc every per where stream table set let emit accent operator punctuated heartbeat delay except "
    "left semi anti true false rows unit"
) | {*operator_forms.WORDS}
"""Words of the language that are written in capitals elsewhere."""

KNOWN = frozenset((*OPERANDS, *LEADING)) - {"isnull", "select", "set", "let", "top"}
"""Words of other languages: they are not slips for words that are written nearly the same."""

STANDS_FOR = {
    word: _words(others)
    for word, others in {
        "as": "is named called to for into = : -> =>",
        "on": "over at by for using in along of with",
        "by": "per over for on each group partition within keyed of in ,",
        "per": "by for each over within partition group keyed in of",
        "every": "slide sliding hop hopping step each by per , advance",
        "to": "into in as on at -> => > >>",
        "from": "in of at to as read <-",
        "in": "to as of at is = : /",
        "with": "using and where ,",
        "then": ": , -> => ? do",
        "else": "otherwise default elif : ,",
        "when": "if case elif elseif , | while",
        "end": "esac fi } done",
        "and": ", ; to & with until through till plus but",
        "or": ", ; |",
        "except": "without minus but expect excluding exclude",
        "delay": "wait lag lateness after within by of",
        "rows": "row tuples records events elements",
        "ordered": "sorted",
        ",": "; . and or | in from for to then with",
        "=": "== := : is equals -> => on to",
        ";": ": . , !",
        ":": "= := as -> => is of ;",
        ":=": "= : as <- is ==",
        "->": "=> = : →",
        "<": "lt less below before under",
        "(": "[ {",
    }.items()
}
"""Word or sign of the language -> words and signs that others write in its place, with the same meaning."""

NEEDLESS = _words(
    "keyed partitioned the with of on by for order group table stream is inner tumbling hopping sliding "
    "window each attribute column gap size"
) | {
    "left outer",
    "[ every",
    "[ last",
    "[ first",
    *(f"{word} by" for word in ("order", "group", "sort", "ordered", "sorted", "grouped")),
}
"""Words that say nothing where they are not expected. Of two words the second one does, or both."""

BEFORE_NAMES = _words("stream table emit set let from as to on by in every per unit join")
"""Words that a name follows, or a number, and no other word of the language."""

GLUE = _words(
    "case as by on in to from every per delay is null and or with join when then else end unit punctuated "
    "original units emit set let stream table , = : := -> ( ) [ ] { } [[ ]]"
)
"""Words and signs that are forgotten; others say something."""

CALLED = _words(
    "avg sum count min max median var stddev first last collect isnull isnotnull abs floor ceil round "
    "sqrt ln log10 exp sign upper lower trim length int long double string boolean date timestamp year "
    "month day hour minute second isnan coalesce"
)
"""Functions that are called without parentheses elsewhere."""
