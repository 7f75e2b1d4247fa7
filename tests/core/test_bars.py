"""Progress bars, and log lines where no terminal shows one."""

import io
import logging
import re
import subprocess
import sys
from types import SimpleNamespace

import pytest
from rich.console import Console

import interlace as il
from interlace.alignment.phrase_counts import count_phrases
from interlace.core import bars
from interlace.core.progress import current_progress, reporting
from interlace.core.ragged import Ragged
from interlace.training.bars import fine_tuning_bar, training_bar
from interlace.training.steps import TrainingStep


def step(index, name, losses, **more):
    return TrainingStep(index, name, "en", losses, 100, 0, 1, 0.1, 0.01, **more)


@pytest.fixture(autouse=True)
def _often(monkeypatch, caplog):
    monkeypatch.setattr(bars, "LOG_EVERY", 0.0)
    caplog.set_level(logging.INFO, "interlace")


def test_progress_is_logged_at_intervals(caplog):
    with training_bar("small") as watch:
        watch(step(1, "mlm", {"mlm": 2.0}, last=10))
        watch(step(2, "weam", {"multilingual": 3.0}, last=10))
    state = "1.0k tokens/s  mlm 2.000"
    assert [record.getMessage() for record in caplog.records] == [
        f"small: 1 of 10, {state}",
        f"small: 2 of 10, 0:00:00 left, {state}  weam/multilingual 3.000",
    ]


def test_a_slow_speed_is_in_tokens(caplog):
    with training_bar("small") as watch:
        watch(TrainingStep(1, "mlm", "en", {"mlm": 2.0}, 100, 0, 1, 4.0, 0.01, last=10))
    assert "25 tokens/s" in caplog.text


def test_log_lines_tell_the_remaining_time_since_this_start(monkeypatch, caplog):
    clock = iter([0.0, 0.0, 100.0, 160.0, 200.0])
    monkeypatch.setattr(bars.time, "monotonic", lambda: next(clock))
    with bars.watching() as show:
        show("small", 50, 100)  # resumed: the 50 before were not done in these seconds
        show("small", 60, 100)
        show("next", 1, 100)
    assert [record.getMessage() for record in caplog.records] == [
        "small: 50 of 100",
        "small: 60 of 100, 0:04:00 left",
        "next: 1 of 100",
    ]


def test_eighty_columns_show_step_and_remaining_time():
    console = Console(file=io.StringIO(), force_terminal=True, width=80)
    with training_bar("pre-training", console) as watch:
        for index in range(1, 4):
            watch(step(index, "mlm", {"mlm": 2.0, "tlm": 3.0}, last=200_000))
    shown = console.file.getvalue()
    assert "3/200000" in shown
    assert re.search(r"\d:\d\d:\d\d", shown)


def test_fine_tuning_shows_its_task_and_number_of_updates(caplog):
    with fine_tuning_bar() as watch:
        watch("pos", 1)(step(3, "pos", {"tagging": 2.0}, last=99))
    assert caplog.records[-1].getMessage().startswith("fine-tuning pos, seed 1: 3 of 99, ")


def test_a_notebook_has_one_output_that_is_updated_and_then_empty(monkeypatch, caplog):
    shown = []

    class Output:
        def update(self, content, raw=False):
            shown.append(content if raw else text_of(content))

    def text_of(progress):
        console = Console(file=io.StringIO(), width=80)
        console.print(progress)
        return console.file.getvalue().split()[:3]

    def display(content, display_id):
        shown.append(text_of(content))
        return Output()

    monkeypatch.setitem(sys.modules, "IPython.display", SimpleNamespace(display=display))
    monkeypatch.setattr(bars, "REDRAW_EVERY", 0.0)
    with bars.watching(Console(force_jupyter=True, file=io.StringIO())) as show:
        show("aligning", 1, 4)
        show("aligning", 2, 4)
    first, second, last = shown
    assert (first[0], "1/4" in first, "2/4" in second) == ("aligning", True, True)
    assert last == {"text/plain": ""}
    assert not caplog.records


def test_short_work_draws_nothing_in_a_notebook(monkeypatch):
    monkeypatch.setitem(sys.modules, "IPython.display", None)  # an import would fail
    with bars.watching(Console(force_jupyter=True, file=io.StringIO())) as show:
        show("aligning", 1, 4)


def test_work_without_a_callback_reports_to_the_bar_that_is_shown(caplog):
    current_progress()("before", 1, 2)
    with bars.watching():
        current_progress()("downloading", 1, 2)
    current_progress()("after", 1, 2)
    assert [record.getMessage() for record in caplog.records] == ["downloading: 1 of 2"]


def test_phrases_report_the_pairs_of_their_text():
    reports = []
    pairs = il.Pairs.from_lists(["a b", "c", "d"], ["A B", "C", "D"])
    links = Ragged.of([[(0, 0), (1, 1)], [(0, 0)], [(0, 0)]])
    with reporting(lambda *report: reports.append(report)):
        count_phrases(pairs.types, links)
    assert reports == [("extracting phrases", 3, 3)]


PROGRAM = """
import logging
{}
from interlace.core import bars
bars.LOG_EVERY = 0
log = logging.getLogger("interlace.experiments")
with bars.watching() as show:
    log.info("building \\x1b[31mcorpus")
    show("small", 1, 2)
log.info("after")
"""


@pytest.mark.parametrize(
    ("configuration", "expected"),
    [
        ("", ["00:00:00 building \\x1b[31mcorpus", "00:00:00 small: 1 of 2"]),
        ("logging.getLogger('interlace').setLevel('ERROR')", []),
        ("logging.basicConfig(format='mine %(message)s')", []),
        (
            "logging.basicConfig(format='mine %(message)s', level='INFO')",
            ["mine building \x1b[31mcorpus", "mine small: 1 of 2", "mine after"],
        ),
    ],
)
def test_a_program_without_terminal_gets_timed_lines_unless_it_configures_logging(
    python, configuration, expected
):
    done = subprocess.run(
        [python, "-c", PROGRAM.format(configuration)],
        check=True,
        capture_output=True,
        text=True,
    )
    lines = re.sub(r"^\d\d:\d\d:\d\d ", "00:00:00 ", done.stderr, flags=re.MULTILINE)
    assert lines.split("\n")[:-1] == expected
    assert not done.stdout
