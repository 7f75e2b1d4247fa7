"""Progress where no terminal shows a bar."""

import io
import logging
import re

import pytest
from rich.console import Console

from interlace.cli.common import progress as _progress
from interlace.training.steps import TrainingStep


def step(index, name, losses, **more):
    return TrainingStep(index, name, "en", losses, 100, 0, 1, 0.1, 0.01, **more)


@pytest.fixture(autouse=True)
def _often(monkeypatch, caplog):
    monkeypatch.setattr(_progress, "LOG_EVERY", 0.0)
    caplog.set_level(logging.INFO, "interlace")


def test_progress_is_logged_at_intervals(caplog):
    with _progress.training_bar("small") as watch:
        watch(step(1, "mlm", {"mlm": 2.0}, last=10))
        watch(step(2, "weam", {"multilingual": 3.0}, last=10))
    state = "1.0k tokens/s  mlm 2.000"
    assert [record.getMessage() for record in caplog.records] == [
        f"small: 1 of 10, {state}",
        f"small: 2 of 10, 0:00:00 left, {state}  weam/multilingual 3.000",
    ]


def test_a_slow_speed_is_in_tokens(caplog):
    with _progress.training_bar("small") as watch:
        watch(TrainingStep(1, "mlm", "en", {"mlm": 2.0}, 100, 0, 1, 4.0, 0.01, last=10))
    assert "25 tokens/s" in caplog.text


def test_log_lines_tell_the_remaining_time_since_this_start(monkeypatch, caplog):
    clock = iter([0.0, 100.0, 160.0, 200.0])
    monkeypatch.setattr(_progress.time, "monotonic", lambda: next(clock))
    with _progress.watching() as show:
        show("small", 50, 100)  # resumed: the 50 before were not done in these seconds
        show("small", 60, 100)
        show("next", 1, 100)
    assert [record.getMessage() for record in caplog.records] == [
        "small: 50 of 100",
        "small: 60 of 100, 0:04:00 left",
        "next: 1 of 100",
    ]


def test_eighty_columns_show_step_and_remaining_time(monkeypatch):
    console = Console(file=io.StringIO(), force_terminal=True, width=80)
    monkeypatch.setattr(_progress, "notes", console)
    with _progress.training_bar("pre-training") as watch:
        for index in range(1, 4):
            watch(step(index, "mlm", {"mlm": 2.0, "tlm": 3.0}, last=200_000))
    shown = console.file.getvalue()
    assert "3/200000" in shown
    assert re.search(r"\d:\d\d:\d\d", shown)


def test_fine_tuning_shows_its_task_and_number_of_updates(caplog):
    with _progress.fine_tuning_bar() as watch:
        watch("pos", 1)(step(3, "pos", {"tagging": 2.0}, last=99))
    assert caplog.records[-1].getMessage().startswith("fine-tuning pos, seed 1: 3 of 99, ")
