"""Commands about a run as its checkpoint shows it: ui, replay."""

from __future__ import annotations

import sys

import click

from cedilla.grammar.diagnostics.printable import counted
from cedilla.runtime.hosts.cli.inputs import reported
from cedilla.runtime.hosts.terminal.addresses import PAGE_PORT, Address, check_extra
from cedilla.runtime.hosts.terminal.console import Console
from cedilla.runtime.hosts.terminal.watch_options import address_of, metrics_option


@click.command("ui", short_help="Serve the live page of a run.")
@click.argument("checkpoint", metavar="CHECKPOINT")
@click.option(
    "--port",
    metavar="[HOST:]PORT",
    callback=address_of,
    default=str(PAGE_PORT),
    show_default=True,
    help="The address of the page. For another host than this machine it has a token.",
)
@metrics_option
@click.option("--no-page", is_flag=True, help="Metrics only.")
@click.option("--of-run", is_flag=True, hidden=True)
def ui_command(checkpoint: str, port: Address, metrics: Address | None, no_page: bool, of_run: bool) -> None:
    """Serve the live page of a run from its checkpoint, running or not, until Ctrl-C. Starts no engine."""
    console = Console()
    with reported(console, {}):
        check_extra("`cedilla ui`")
        from cedilla.runtime.epochs.checkpoint.checkpoint_folder import read_checkpoint
        from cedilla.runtime.hosts.ui.serving import serve

        if not of_run:
            read_checkpoint(checkpoint)
        serve(checkpoint, None if no_page else port, metrics, _say, of_run)


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")  # with its token
    sys.stdout.flush()


@click.command("replay", short_help="Send the lines of a quarantine again, once they are mended.")
@click.argument("checkpoint", metavar="CHECKPOINT")
@click.option("--code", metavar="RQ311", required=True, help="The code of the lines.")
@click.option("--source", metavar="NAME", help="Lines of one source only.")
@click.option(
    "--print", "printed", is_flag=True, help="Write the lines to standard output, and send nothing."
)
@click.option("--as-now", is_flag=True, help="Send also lines that an accent after them describes (RQ497).")
@click.option("--again", is_flag=True, help="Send also lines that were sent before.")
def replay_command(
    checkpoint: str, code: str, source: str | None, printed: bool, as_now: bool, again: bool
) -> None:
    """Send the lines of a quarantine again, as a new file of their source, after their cause is mended.

    The run reads them like any new file, or the next run does. Each line is sent once. Starts no engine.
    """
    from cedilla.runtime.tools.inspect.replay import replays, send, texts

    console = Console()
    with reported(console, {}):
        all_replays = replays(checkpoint, code, source, again=again)
        if printed:
            for text in texts(all_replays):
                console.data(text)
            return
        for replay in all_replays:
            paths = ", ".join(map(str, send(checkpoint, replay, as_now=as_now)))
            console.out(
                f"{counted(len(replay.lines), 'line')} of {replay.source} with {code} sent again: {paths}"
            )
