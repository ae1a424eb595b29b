"""The files of a new project: a query, data in two units, and a test (`cedilla init`)."""

from __future__ import annotations

from pathlib import Path

from cedilla.grammar.diagnostics import failure

_QUERY = """\
# Average flow of all pumps, minute by minute.
stream pumps(ts: long unit s, pump: int in {1, 2}, litres: double unit L)
  from json "data/pumps"
  punctuated on ts;

minutes := window[60 on ts as minute](pumps);
flow := aggregate[avg(litres) as litres by minute](minutes);

emit flow to json "out/flow";
"""
_DATA = """\
{"ts": 0, "pump": 1, "litres": 100.0}
{"ts": 0, "pump": 2, "litres": 140.0}
{"$accent": "[[pump = 1, unit(litres, m3)]]"}
{"ts": 30, "pump": 1, "litres": 0.1}
{"ts": 30, "pump": 2, "litres": 140.0}
{"$punctuation": "[ts < 60]"}
"""
_TEST = """\
# Tests of pumps.rq

`cedilla test` runs this page, and so does pytest. `cedilla test --accept` writes what the query gives.

```rq ../pumps.rq
```

## A pump changes its unit

```json data/pumps/1.jsonl
{data}```

```json flow
{"minute": 0, "litres": 120.0}
{"$punctuation": "[minute < 1]"}
```

## A bad tuple is set aside

```json data/pumps/1.jsonl
{"ts": 0, "pump": 9, "litres": 100.0}
```

```json quarantine
{"code": "RQ303", "raw": "{\\"ts\\": 0, \\"pump\\": 9, \\"litres\\": 100.0}"}
```
"""
_IGNORED = ".cedilla/\nout/\n"

FILES = {
    "pumps.rq": _QUERY,
    "data/pumps/1.jsonl": _DATA,
    "tests/test_pumps.md": _TEST.replace("{data}", _DATA),
    ".gitignore": _IGNORED,
}
"""Path of a file -> its text."""


def create(folder: Path) -> list[Path]:
    """Writes the files of a new project; returns their paths. Raises `DiagnosticError` RQ455 if one of them exists."""
    paths = {folder / name: text for name, text in FILES.items()}
    for path in paths:
        if path.exists():
            raise failure("RQ455", f"{path} exists already", hint="another folder: `cedilla init FOLDER`")
    for path, text in paths.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    return list(paths)
