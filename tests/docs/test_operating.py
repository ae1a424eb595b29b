"""The files of `docs/operating`: a service for systemd, and alert rules for Prometheus."""

from __future__ import annotations

import re
import shlex

import click
import yaml

from cedilla.runtime.hosts.cli.main import main
from tests.kit import ROOT

OPERATING = ROOT / "docs" / "operating"
PAGE = (ROOT / "docs" / "when-something-is-wrong.md").read_text("utf-8")


def test_the_service_runs_a_command_that_exists_and_ends_it_as_the_page_of_runs_says() -> None:
    lines = (OPERATING / "cedilla@.service").read_text("utf-8").splitlines()
    service = dict(line.split("=", 1) for line in lines if re.match(r"\w+=", line))
    program, command, *arguments = shlex.split(service["ExecStart"].replace("%i", "pumps"))
    assert program.endswith("/cedilla")
    context = click.Context(main.commands[command])
    main.commands[command].parse_args(context, arguments)
    assert context.params["query"] == "pumps.rq"
    running = (ROOT / "docs" / "running.md").read_text("utf-8")
    for setting in ("SuccessExitStatus", "KillMode"):
        assert f"`{setting}={service[setting]}`" in running


def test_the_rules_ask_for_metrics_that_a_run_serves() -> None:
    rules = yaml.safe_load((OPERATING / "alerts.yml").read_text("utf-8"))["groups"][0]["rules"]
    live_page = (ROOT / "docs" / "live-page.md").read_text("utf-8")
    served = set(re.findall(r"`(\w+)`", live_page.partition("after `cedilla_`:")[2].partition("\n## ")[0]))
    used = {name for rule in rules for name in re.findall(r"\bcedilla_(\w+)", rule["expr"])}
    assert used
    assert used <= served
    assert len(rules) == 6
    assert "has six rules" in PAGE
    assert "`CedillaStopped`" in PAGE
