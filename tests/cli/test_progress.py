"""Progress where no terminal shows a bar."""

import logging

import pytest

from interlace.cli.common import progress as _progress
from interlace.training.loop import TrainingStep


def test_progress_is_logged_at_intervals(monkeypatch, caplog):
    monkeypatch.setattr(_progress, "LOG_EVERY", 0.0)
    more = {"flops": 5e10, "memory": 2 * 10**9}
    with caplog.at_level(logging.INFO, logger="interlace"), _progress.training_bar("small", 10) as watch:
        for index in (1, 2):
            watch(TrainingStep(index, "mlm", "en", {"mlm": 2.0}, {}, 100, 0, 1, 0.1, 0.01, **more))
    assert [record.getMessage() for record in caplog.records] == [
        "small: 1 of 10, 1.0k tokens/s  0.5 TFLOP/s  2.0 GB  waiting 10%  mlm 2.000",
        "small: 2 of 10, 1.0k tokens/s  0.5 TFLOP/s  2.0 GB  waiting 10%  mlm 2.000",
    ]


def test_an_interrupt_prints_how_to_resume(capfd):
    with pytest.raises(KeyboardInterrupt), _progress.training_bar("small", 10):
        raise KeyboardInterrupt
    assert "rerun the same command" in capfd.readouterr().err
