"""The realised mixture and the units of perplexity, as the page shows them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from interlace.report._parts import Evaluation, Facts
from interlace.report._run import Run
from interlace.report.perplexity import perplexity
from interlace.report.shares import shares

if TYPE_CHECKING:
    from pathlib import Path


def run(folder: Path, label: str, style: int = 0, *, evaluations: Any = (), **facts: Any) -> Run:
    return Run(folder, {}, Facts(**facts), label, style, evaluations=list(evaluations))


def test_languages_stand_beside_objectives(tmp_path: Path) -> None:
    mixture = {
        "tokens": {"mlm/de": 1500, "tlm/en-de": 500},
        "rows": {"mlm/de": 15, "tlm/en-de": 9},
        "steps": {"mlm/de": 3, "tlm/en-de": 1},
        "languages": {"de": 1750, "en": 250},
    }
    page = str(shares([run(tmp_path, "a", shares={"mlm/de": 0.75, "tlm/en-de": 0.25}, mixture=mixture)]).body)
    assert "a: 1,500 subwords, 15 rows, 3 steps" in page
    languages = page.partition("all, by language")[2]
    assert "German" in languages
    assert "87.5 %" in languages
    assert "12.5 %" in languages


def test_runs_of_before_show_no_languages(tmp_path: Path) -> None:
    page = str(shares([run(tmp_path, "a", shares={"mlm/de": 1.0})]).body)
    assert "100.0 %" in page
    assert "by language" not in page


def test_perplexities_are_told_in_the_units_of_their_runs(tmp_path: Path) -> None:
    scores = [
        Evaluation(step=step, scores={"perplexity/en": 9.0 - step, "bits_per_character/en": 2.0 - step / 10})
        for step in (1, 2)
    ]
    causal = run(tmp_path, "clm", evaluations=scores, perplexity_unit="per subword")
    masked = run(tmp_path, "mlm", 1, evaluations=scores[:1], perplexity_unit="per masked subword")
    alone, both = str(perplexity([causal]).body), str(perplexity([causal, masked]).body)
    assert "Perplexity per subword, on" in alone
    assert "Bits per character, from left to right, on" in alone
    assert "per masked subword" not in alone
    assert "Perplexity per subword or per masked subword, on" in both


def test_bleu_on_the_way_stands_beside_perplexity_and_rises(tmp_path: Path) -> None:
    scores = {"perplexity/en-de": 9.0, "perplexity/mean": 9.0, "bleu/en-de": 12.0, "bleu/mean": 12.0}
    plain = {name: value for name, value in scores.items() if name.startswith("perplexity")}
    found = perplexity([run(tmp_path, "mt", evaluations=[Evaluation(step=1, scores=scores)])])
    assert "BLEU of greedy translations of development text, in each direction." in str(found.body)
    assert found.lead.endswith("Of BLEU, higher is better.")
    assert found.title == "Perplexity and BLEU"
    without = perplexity([run(tmp_path, "lm", 1, evaluations=[Evaluation(step=1, scores=plain)])])
    assert ("BLEU" not in without.lead, without.title) == (True, "Perplexity")
    alone = {"bleu/en-de": 12.0, "bleu/mean": 12.0}
    assert perplexity([run(tmp_path, "mt2", 2, evaluations=[Evaluation(step=1, scores=alone)])]).title == "BLEU"
