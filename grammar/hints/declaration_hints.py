"""Slips in declarations and settings: rules as in `slips`."""

from __future__ import annotations

import re

from cedilla.grammar.diagnostics import Diagnostic
from cedilla.grammar.diagnostics.suggestions import did_you_mean, suggest
from cedilla.grammar.hints import synonyms
from cedilla.grammar.hints.forms import CLAUSES, FORMATS
from cedilla.grammar.hints.syntax_hints import Slip
from cedilla.grammar.syntax.settings import SETTINGS


def _clause(slip: Slip) -> str | None:
    """Returns a hint for a wrong word after a source."""
    word = str(slip.found)
    if word == "," and slip.rest.lstrip()[:1] not in ("'", '"'):
        return None
    if word == "from" and slip.rest.split()[:1] and slip.rest.split()[0] in FORMATS:
        word = ","
    near = suggest(word, CLAUSES)
    return synonyms.PROMISES.get(word.lower()) or (near and f"did you mean `{CLAUSES[near]}`?")


_QUOTED = synonyms.by_word(
    {
        "kafka kafka_otlp": 'a topic is written in quotes: `"host:9092/topic"`',
        "resource attribute scope": 'a key is written in quotes: `from resource "service.name"`',
        "metrics": 'metrics are named in quotes: `metrics "http.server.duration"`',
    }
)


def declaration(slip: Slip) -> Diagnostic | None:
    """`s(a int)`, `a: int not null`, `in 1..9`, `punctuate on`, `watermark`, `heartbeat ts`, a path without quotes."""
    word, last, accepts = str(slip.found), str(slip.last), slip.accepts
    path = "path" if last in FORMATS else last
    if accepts == frozenset(("COLON", "OPTIONAL")):
        if last.lower() == "watermark":
            return slip.unexpected(synonyms.PROMISES["watermark"])
        if word == "-":
            named = f'`{last.lower()}_id: int from "{last}-ID"`'
            return slip.unexpected(f"a name is one word: {named} reads a key of another name")
        return slip.unexpected("the type is written after a colon: `a: int`, `a?: int` if it may be missing")
    if "UNIT" in accepts and accepts & {"COMMA", "RPAR"} and not {"PLUS", "RSQB"} & accepts:
        name = next((str(t) for t in reversed(slip.before[:-1]) if t.type == "NAME"), "a")
        synonym = synonyms.DECLARED.get(word.lower()) or synonyms.DECLARED.get(last.lower())
        if synonym is not None:
            return slip.unexpected(synonym)
        if word == "<":
            return slip.unexpected(synonyms.DECLARED["list"])
        if word == "[" and slip.rest.startswith("]"):
            return slip.unexpected(synonyms.DECLARED["list"])
        if word == "?":
            return slip.unexpected(f"`?` comes after the name: `{name}?: {last}`")
    if last == "in" and accepts - {"NAME"} == frozenset(("LBRACE", "LPAR", "LSQB")):
        column = ", or `in devices.s`, of a table" if "NAME" in accepts else ""
        single = "" if column or word == "(" else "; a single one is compared by `t = 30`"
        return slip.unexpected(f"values are written `in {{1, 2, 3}}` or `in [1, 10)`{column}{single}")
    if "PUNCTUATED" in accepts and (help := _clause(slip)):
        return slip.unexpected(help)
    if slip.requires("DELAY"):
        return slip.unexpected("a heartbeat requires its attribute and its delay: `heartbeat ts delay 10`")
    if slip.accepts & {"OF", "NOW"} and "within" in slip.before:
        return slip.unexpected(
            "the clock is named, as in `heartbeat ts delay 10 seconds within 1 day of now`"
        )
    if slip.requires("STRING") and (last in _QUOTED or slip.found not in ("(", ":", ",", "=", "[")):
        if slip.statement[:1] == ["operator"]:
            return slip.unexpected('a function is written in quotes: `from "module:function"`')
        if last not in _QUOTED and "from" in slip.before[-2:-1] and slip.found == ".":
            more = re.split(r"[,)]", slip.rest)[0].strip()
            return slip.unexpected(f'keys are written in quotes: `from "{last}.{more}"`')
        if len(slip.before) > 1 and slip.before[-2] in ("to", "from") and word == ";":
            return slip.unexpected(
                f'a place is a format and a path in quotes: `{slip.before[-2]} json "{path}"`'
            )
        return slip.unexpected(_QUOTED.get(last, 'a path is written in quotes: `"data/in"`'))
    return None


def setting(slip: Slip) -> Diagnostic | None:
    """`set late abort;`, `set late := abort;`."""
    words = slip.statement
    if words[:1] == ["set"] and len(words) > 1 and words[1] not in SETTINGS:
        return slip.complain(f"unknown setting `{words[1]}`", did_you_mean(words[1], SETTINGS, "settings"))
    if slip.requires("EQUAL") and words[:1] == ["set"]:
        return slip.unexpected("a setting is written `set late = abort;`")
    return None
