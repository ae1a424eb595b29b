"""Commands about a run as its checkpoint shows it: ui, replay."""

from __future__ import annotations

import sys

import click

from cedilla.runtime.cli.inputs import reported
from cedilla.runtime.terminal.addresses import PAGE_PORT, Address, check_extra
from cedilla.runtime.terminal.console import Console
from cedilla.runtime.terminal.watch_options import address_of, metrics_option


@click.command("ui")
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
        from cedilla.runtime.checkpoint.checkpoint_folder import read_checkpoint
        from cedilla.runtime.ui.serving import serve

        if not of_run:
            read_checkpoint(checkpoint, "ui")
        serve(checkpoint, None if no_page else port, metrics, _say, of_run)


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")  # with its token
    sys.stdout.flush()
