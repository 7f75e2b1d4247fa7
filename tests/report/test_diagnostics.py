"""Diagnostics as curves: what stands in which panel, what is averaged, and what the captions own up to."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest

from interlace.report._curves import curves_by_panel
from interlace.report._parts import Diagnosis, Evaluation, Facts, Step
from interlace.report._run import Run, read_runs
from interlace.report.diagnostics import _chosen, _measured, _panels, diagnostics
from interlace.report.losses import losses
from interlace.report.perplexity import perplexity

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

SCORES = {
    "alignment/en-de": 10.0, "alignment/mean": 10.0,
    "retrieval/en-de": 40.0, "retrieval/de-en": 60.0, "retrieval/en-hi": 4.0, "retrieval/hi-en": 8.0,
    "retrieval/mean": 28.0, "gap/en-de": -0.01, "gap/mean": -0.01,
    "cka/en-de/0": 0.3, "cka/en-de/1": 0.4, "cka/mean/0": 0.3, "cka/mean/1": 0.4,
    "accuracy/en": 20.0, "accuracy/de": 16.0, "accuracy/mean": 18.0,
    "align_mlm/train/p@1": 90.0, "align_mlm/train/cosine": 0.9, "align_mlm/held-out/p@1": 30.0,
}  # fmt: skip
ON = {"en-de": {"pairs": 128, "from": "dev"}}


def run(folder: Path, label: str = "a", style: int = 0, on: Any = None, scores: Any = None, **more: Any) -> Run:
    lines = [
        Diagnosis(step=step, scores={name: value * step for name, value in (scores or SCORES).items()},
                  on=on or ON, seconds=0.5)
        for step in (0, 1, 2)
    ]  # fmt: skip
    return Run(folder, {}, more.pop("facts", Facts()), label, style, diagnoses=lines, **more)


def titles(page: str) -> list[str]:
    return re.findall(r'class="title">([^<]*)<', page)


def test_a_panel_a_pair_a_layer_and_a_language(tmp_path: Path) -> None:
    page = str(diagnostics([run(tmp_path)]).body)
    pair, hindi = "English \N{EN DASH} German", "English \N{EN DASH} Hindi"
    assert titles(page) == [
        pair, "align_mlm, learnt from", "align_mlm, held out", "align_mlm, learnt from", pair, hindi, "Mean of all",
        pair, "Embeddings", "Layer 1", "English", "German", "Mean of all",
    ]  # fmt: skip


def test_both_directions_are_one_curve(tmp_path: Path) -> None:
    one = run(tmp_path)
    found = curves_by_panel([one], {tmp_path: _measured(one)}, _panels("retrieval", SCORES))
    assert list(found)[-1] == "Mean of all"
    assert found["English \N{EN DASH} German"][0].points == [(0, 0), (1, 50), (2, 100)]
    assert found["English \N{EN DASH} Hindi"][0].points == [(0, 0), (1, 6), (2, 12)]


def test_runs_stand_in_one_panel_and_may_lack_a_measure(tmp_path: Path) -> None:
    both = [run(tmp_path / "a"), run(tmp_path / "b", "b", 1, scores={"gap/en-de": 0.2})]
    page = str(diagnostics(both).body)
    gap, cka = (re.search(rf'<svg[^>]*aria-label="[^"]*{what}[^"]*"', page) for what in ("gap of cosines", "linear"))
    assert gap is not None
    assert cka is not None
    assert "a \N{MINUS SIGN}0.0200, b 0.400" in gap[0]
    assert "b " not in cka[0].partition("last step")[2]


def test_captions_say_on_what_and_what_does_not_compare(tmp_path: Path) -> None:
    alone = str(diagnostics([run(tmp_path)]).body)
    assert "Measured on 128 held-out pairs (English \N{EN DASH} German)." in alone
    assert "not measured on the same pairs" not in alone
    seen = run(tmp_path / "b", "b", 1, on={"en-de": {"pairs": 64, "from": "train"}})
    assert "which the model may have seen" in str(diagnostics([seen]).body)
    assert "not measured on the same pairs" in str(diagnostics([run(tmp_path), seen]).body)


def test_the_cost_is_told(tmp_path: Path) -> None:
    lead = diagnostics([run(tmp_path, facts=Facts(seconds={"steps": 300.0}))]).lead
    assert lead.endswith("Looking took 0.50\N{NARROW NO-BREAK SPACE}% of the time of the steps.")
    assert "Looking" not in diagnostics([run(tmp_path)]).lead


def test_dictionaries_measured_with_perplexity_stand_here_and_not_there(tmp_path: Path) -> None:
    scores = {"perplexity/en": 9.0, "align_mlm/train/p@1": 80.0}
    before = Run(tmp_path, {}, Facts(), "a", evaluations=[Evaluation(step=4, scores=scores)])
    assert titles(str(diagnostics([before]).body)) == ["align_mlm, learnt from"]
    assert titles(str(perplexity([before]).body)) == ["English"]


@pytest.mark.parametrize(
    ("count", "most", "expected"), [(3, 8, [0, 1, 2]), (13, 4, [0, 4, 8, 12]), (25, 8, [0, 3, 7, 10, 14, 17, 21, 24])]
)
def test_of_many_layers_some_are_shown(count: int, most: int, expected: list[int]) -> None:
    assert _chosen([str(number) for number in range(count)], most) == [str(number) for number in expected]


def test_layers_that_are_not_drawn_are_named(tmp_path: Path) -> None:
    scores = {f"cka/{what}/{layer}": 0.1 for what in ("en-de", "mean") for layer in range(13)}
    page = str(diagnostics([run(tmp_path, scores=scores)]).body)
    assert titles(page)[0] == "Embeddings"
    assert titles(page)[-1] == "Layer 12"
    assert "Not drawn: Layer" in page


def test_lines_are_read_from_a_run(make_run: Callable[..., Path]) -> None:
    folder = make_run("mlm", gain=0.0)
    line = {"kind": "diagnosis", "step": 5, "scores": {"gap/en-de": None}, "on": ON, "seconds": 0.1}
    with (folder / "metrics.jsonl").open("a") as file:
        file.write(json.dumps(line) + "\n")
    (read,) = read_runs([folder])
    assert [(one.step, one.on, one.seconds) for one in read.diagnoses] == [(5, ON, 0.1)]
    assert "says how often" in diagnostics([read]).lead  # nothing finite was measured


def test_a_share_is_no_loss(tmp_path: Path) -> None:
    terms = {"multilingual": 5.0, "cross_lingual": 6.0, "aligned_share": 0.7}
    steps = [Step(step=step, objective="weam", losses=terms) for step in range(3)]
    page = str(losses([Run(tmp_path, {}, Facts(), "a", steps=steps)]).body)
    nats, shares = page.split("</figure>")[:2]
    assert titles(nats) == ["weam: multilingual", "weam: cross_lingual"]
    assert titles(shares) == ["weam: aligned_share"]
    assert "Nats a predicted subword" in nats
    assert "No losses" in shares
    assert "nats" not in shares
