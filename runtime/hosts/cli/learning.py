"""Commands for those who write queries: init, test, rule, lsp."""

from __future__ import annotations

import sys
from pathlib import Path

import click
from click.shell_completion import CompletionItem

from cedilla.grammar.diagnostics import failure
from cedilla.grammar.diagnostics.codes import Code, codes
from cedilla.grammar.diagnostics.suggestions import did_you_mean
from cedilla.runtime.hosts.cli.inputs import reported
from cedilla.runtime.hosts.terminal.console import Console


@click.command("lsp")
def lsp_command() -> None:
    """Serve an editor over standard input and output (language server protocol). Starts no Spark.

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


@click.command("init")
@click.argument("folder", metavar="[FOLDER]", default=".")
def init_command(folder: str) -> None:
    """Write a small project into a folder: a query, data with a change of unit, and a test. Starts no Spark."""
    from cedilla.runtime.tools.query_tests.project import create

    console = Console()
    with reported(console, {}):
        paths = create(Path(folder))
    console.out("\n".join(f"wrote {path}" for path in paths))
    inside = "" if folder == "." else f"cd {folder}; "
    console.out(f"next: {inside}cedilla simulate pumps.rq; cedilla test")


@click.command("test")
@click.argument("pages", metavar="[PAGE]...", nargs=-1)
@click.option(
    "--accept", is_flag=True, help="Write what the queries give into the pages, to be reviewed as a diff."
)
def test_command(pages: tuple[str, ...], accept: bool) -> None:
    """Run tests of queries: pages with a query, input, and the expected output and quarantine. Starts no Spark.

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
    """Returns the pages of paths. Raises `UsageError` if there are none."""
    pages: list[Path] = []
    for path in map(Path, paths):
        pages += sorted(path.rglob("test_*.md")) if path.is_dir() else [path]
    if not pages:
        raise click.UsageError(f"no page test_*.md in {', '.join(paths)}; `cedilla init` writes one")
    return pages


def _codes(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    return [CompletionItem(name) for name in codes() if name.startswith(incomplete.upper())]


@click.command("rule")
@click.argument("names", metavar="[CODE]...", nargs=-1, shell_complete=_codes)
def rule_command(names: tuple[str, ...]) -> None:
    """Describe codes of messages: what they report, an example, and how to resolve them. Without a CODE, list all."""
    console = Console()
    all_codes = codes()
    for name in names:
        if name.upper() not in all_codes:
            raise click.UsageError(
                f"there is no code `{name}`; {did_you_mean(name.upper(), all_codes, 'codes')}"
            )
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
    parts.append(f"more: docs/{code.page}")
    return "\n".join(line for part in parts for line in wrapped(part, width, "  "))
