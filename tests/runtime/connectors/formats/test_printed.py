"""Standard output as a sink."""

from __future__ import annotations

from pathlib import Path

import pytest

from cedilla.runtime.connectors.formats.sinks.stdout import StdoutSink
from cedilla.runtime.connectors.records.marker_files import Markers
from cedilla.runtime.connectors.storage.files import Files


class Killed(BaseException):
    """Stands for the end of the process."""


def test_an_epoch_is_printed_again_after_a_death_amid_its_printing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing says how much of it the reader has; once it is all printed, it is gone."""
    sink = StdoutSink(Files(), str(tmp_path / "printed"), "r", "")
    sink.stage_markers(0, Markers(punctuations=("[k < 1]", "[k < 2]")))

    def die(*_: object) -> None:
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(Files, "delete", die)
        with pytest.raises(Killed):
            sink.publish(0, sink.run)
    before = capsys.readouterr().out
    sink.publish(0, sink.run)
    assert capsys.readouterr().out == before
    assert before.splitlines() == ['{"$punctuation": "[k < 1]"}', '{"$punctuation": "[k < 2]"}']
    sink.publish(0, sink.run)
    assert capsys.readouterr().out == ""
