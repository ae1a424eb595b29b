"""Commands for those who write queries: init, test, rule, docs, lsp."""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path

import click
from click.shell_completion import CompletionItem

from cedilla.grammar.diagnostics import failure
from cedilla.grammar.diagnostics.codes import Code, codes
from cedilla.grammar.diagnostics.printable import counted
from cedilla.grammar.diagnostics.suggestions import did_you_mean
from cedilla.runtime.hosts.cli.inputs import reported
from cedilla.runtime.hosts.cli.pages import command_of, for_terminal, pages, summary, text_of
from cedilla.runtime.hosts.terminal.console import Console


@click.command("lsp", short_help="Serve an editor (language server protocol).")
def lsp_command() -> None:
    """Serve an editor over standard input and output (language server protocol). Starts no engine.

    Findings with their fixes, hovers, completion, definitions, renames, layout: of queries, and of the accents in
    `.jsonl` files that a query reads.
    """
    with reported(Console(), {}):
        try:
            from cedilla.runtime.hosts.language_server.server import serve
        except ModuleNotFoundError as missing:
            if (missing.name or "").partition(".")[0] not in ("pygls", "lsprotocol"):
                raise
            hint = "pip install 'cedilla[lsp]'"
            raise failure("RQ498", "the language server requires the package pygls", hint=hint) from None
        serve()


@click.command("init", short_help="Write a first query and a test, over your data or other.")
@click.argument("folder", metavar="[FOLDER]", default=".")
@click.option(
    "--from",
    "sources",
    metavar="PATH",
    multiple=True,
    help="Write a query over this data: a file, a folder, a table of Delta or Iceberg, or HOST:PORT/TOPIC; repeatable.",
)
@click.option("--registry", metavar="URL", help="Write it from the schemas of the topic, and read no record.")
@click.option("--subject", metavar="NAME", help="Of the schemas; `TOPIC-value` otherwise.")
def init_command(folder: str, sources: tuple[str, ...], registry: str | None, subject: str | None) -> None:
    """Write a first project: a query and a test, over data of its own or --from yours.

    Without --from the data is of a pump that changes its unit. With it a sample is read, and comments in the query say
    what was seen and guessed: types, units by names, time, key, fields with two names. With --registry nothing is
    guessed: the query has the names of the newest schema, and accents for the older ones. Starts no engine.
    """
    from cedilla.runtime.tools.first_query.project import create_from
    from cedilla.runtime.tools.query_tests.project import create

    console = Console()
    if registry is not None:
        _init_from_registry(folder, sources, registry, subject, console)
        return
    if subject is not None:
        raise click.UsageError("--subject requires --registry URL")
    with reported(console, {}):
        if sources:
            paths, query = create_from(Path(folder), sources)
            console.note("; ".join(stream.sample.what for stream in query.streams))
        else:
            paths = create(Path(folder))
    console.out("\n".join(f"wrote {path}" for path in paths))
    inside = "" if folder == "." else f"cd {shlex.quote(folder)}; "
    outside = sorted({os.path.relpath(source, folder) for source in sources if _is_outside(source, folder)})
    allowed = "".join(f" --allow-path {shlex.quote(path)}" for path in outside)
    name = shlex.quote(Path(paths[0]).name)
    console.out(f"next: {inside}cedilla simulate {name}{allowed}; cedilla test")


def _init_from_registry(
    folder: str, sources: tuple[str, ...], registry: str, subject: str | None, console: Console
) -> None:
    from cedilla.runtime.tools.first_query.registered import create_from_registry

    if len(sources) != 1:
        raise click.UsageError("--registry requires one --from HOST:PORT/TOPIC")
    with reported(console, {}):
        query = create_from_registry(Path(folder), sources[0], registry, subject)
    console.diagnostics(query.changes.warnings(), {})
    console.note(f"the names of {query.base}; {counted(query.changes.stated, 'accent')} for others")
    console.out("\n".join(f"wrote {path}" for path in query.paths))
    inside = "" if folder == "." else f"cd {shlex.quote(folder)}; "
    console.out(f"next: {inside}cedilla check {shlex.quote(query.paths[0].name)} --registry {registry}")


def _is_outside(source: str, folder: str) -> bool:
    """Returns True for a path on this machine that a query in a folder may not read by itself."""
    path = Path(source)
    return path.exists() and not path.resolve().is_relative_to(Path(folder).resolve())


@click.command("test", short_help="Run tests of queries.")
@click.argument("pages", metavar="[PAGE]...", nargs=-1)
@click.option(
    "--accept", is_flag=True, help="Write what the queries give into the pages, to be reviewed as a diff."
)
def test_command(pages: tuple[str, ...], accept: bool) -> None:
    """Run tests of queries: pages with a query, input, and the expected output and quarantine. Starts no engine.

    A PAGE is a Markdown file, or a folder with files test_*.md; by default the working directory. Exit status 1 where
    a result differs.
    """
    from cedilla.runtime.tools.query_tests.cases import failures
    from cedilla.runtime.tools.query_tests.pages import accept as accepted
    from cedilla.runtime.tools.query_tests.pages import checked_cases

    console = Console()
    total = wrong = 0
    for page in _pages(pages or (".",)):
        with reported(console, {}):
            cases = checked_cases(page)
        for case in cases:
            total += 1
            differences = list(failures(case))
            wrong += bool(differences)
            for difference in differences:
                if accept and difference.error is None:
                    accepted(case, difference.block, difference.items)
                    console.out(f"{page}: {case.title}: `{difference.block.name}` accepted")
                else:
                    console.out(difference.text() + "\n")
    console.out(f"{total - wrong} of {total} tests pass")
    sys.exit(bool(wrong) and not accept)


def _pages(paths: tuple[str, ...]) -> list[Path]:
    """Returns the pages of paths. Raises `UsageError` without any."""
    pages: list[Path] = []
    for path in map(Path, paths):
        pages += sorted(path.rglob("test_*.md")) if path.is_dir() else [path]
    if not pages:
        raise click.UsageError(f"no page test_*.md in {', '.join(paths)}; `cedilla init` writes one")
    return pages


def _codes(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    return [CompletionItem(name) for name in codes() if name.startswith(incomplete.upper())]


@click.command("rule", short_help="Describe the codes of messages.")
@click.argument("names", metavar="[CODE]...", nargs=-1, shell_complete=_codes)
def rule_command(names: tuple[str, ...]) -> None:
    """Describe codes of messages: what they report, an example, and how to resolve them. Without a CODE, list all."""
    console = Console()
    all_codes = codes()
    for name in names:
        if name.upper() not in all_codes:
            raise click.UsageError(f"unknown code `{name}`; {did_you_mean(name.upper(), all_codes, 'codes')}")
    if not names:
        console.out(
            "\n".join(f"{code.name}  {code.meaning.partition('. ')[0]}" for code in all_codes.values())
        )
        return
    console.out("\n\n".join(_rule(all_codes[name.upper()], console.width) for name in names))


def _rule(code: Code, width: int) -> str:
    """Returns the entry of a code as text."""
    from cedilla.compiler.explain.wrapping import wrapped

    parts = [f"{code.severity}[{code.name}]: {code.meaning}", f"fix: {code.fix}"]
    parts += [f"example: {text}" for text in code.shown]
    parts.append(f"more: {command_of(code.page)}")
    return "\n".join(line for part in parts for line in wrapped(part, width, "  "))


def _pages_named(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    return [CompletionItem(name) for name in pages() if name.startswith(incomplete)]


@click.command("docs", short_help="Show the pages of the documentation.")
@click.argument("names", metavar="[PAGE]", nargs=-1, shell_complete=_pages_named)
def docs_command(names: tuple[str, ...]) -> None:
    """Show a page of the documentation, or without a PAGE, list all.

    PAGE is the name of a page, `markers`; of a part, `markers#renames`; of an operator, a command, a function or a
    setting; or a code, `RQ216`. Other words, `late tuples`, list the parts that have all of them. On a terminal a pager
    shows it; elsewhere it is Markdown.
    """
    console, name = Console(), " ".join(names)
    if not name:
        widest = max(map(len, pages()))
        lines = (f"{page:{widest}}  {summary(page, text)}" for page, text in pages().items())
        room = max(console.width, widest + 40)
        console.out("\n".join(line if len(line) <= room else f"{line[: room - 1]}…" for line in lines))
        return
    with reported(console, {}):
        code = codes().get(name.upper())
        text = text_of(name if code is None else code.page)
        if code is not None:
            text = f"```\n{_rule(code, console.width)}\n```\n\n{text}"
        console.page(for_terminal(text) if console.clears else text)
