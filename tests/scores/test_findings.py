"""Verdicts on registered findings, by hand and on simulated runs."""

from collections import Counter

import numpy as np
import pytest

from interlace.core.errors import SettingsError
from interlace.experiments.studies import Study
from interlace.report.findings import findings_tables
from interlace.scores import ScoreTable
from interlace.scores.findings import StudyFinding, judge
from study_rows import row, texts

CLAIM = {
    "claim": "B is better.",
    "system": "b",
    "task": "pos",
    "language": "de",
    "against": {"system": "a"},
}


def finding(**changes):
    return StudyFinding(**{**CLAIM, "family": "all", "margin": 2.0, **changes})


def table(a, b, **more):
    rows = [
        row(name, seed, "de", score, **more)
        for name, side in (("a", a), ("b", b))
        for seed, score in enumerate(side)
    ]
    return ScoreTable(rows)


def verdict(one, scores, runs=5):
    [found] = judge({"x": one}, scores, runs)
    return found


LOW, NEAR, HIGH = [50, 51, 52, 53, 54], [50.5, 51.5, 52.5, 53.5, 54.5], [60, 61, 62, 63, 64]


@pytest.mark.parametrize(
    ("changes", "a", "b", "expected"),
    [
        ({}, LOW, HIGH, "confirmed"),
        ({}, HIGH, LOW, "refuted"),
        ({}, LOW, NEAR, "undecided"),  # the interval reaches beyond 2
        ({"margin": 6.0}, LOW, NEAR, "refuted"),  # no difference of 6 is left
        ({}, LOW[:4], HIGH, "pending"),
        ({"kind": "equal", "margin": 6.0}, LOW, NEAR, "confirmed"),
        ({"kind": "equal", "margin": 6.0}, HIGH, LOW, "refuted"),
        ({"kind": "equal"}, LOW, NEAR, "undecided"),
        ({"language": "es"}, LOW, HIGH, "pending"),
        ({"metric": "f1"}, LOW, HIGH, "pending"),
    ],
)
def test_verdicts_by_hand(changes, a, b, expected):
    assert verdict(finding(**changes), table(a, b)).verdict == expected


def test_numbers_of_a_verdict_also_where_lower_is_better():
    found = verdict(finding(), table(LOW, HIGH))
    assert (found.means, found.difference.value, found.runs) == ((62.0, 52.0), 10.0, 5)
    assert found.p == pytest.approx(
        2 / 252
    )  # of 252 splits the observed one and its mirror image are as extreme
    assert found.difference.low < 10 < found.difference.high
    assert (
        verdict(finding(), table(LOW, HIGH), runs=6).verdict == "pending"
    )  # a sixth run was registered
    found = verdict(finding(), table(HIGH, LOW, greater_is_better=False))
    assert (found.verdict, found.difference.value, found.means) == ("confirmed", 10.0, (52.0, 62.0))


def test_sides_differ_in_settings_and_axes():
    axes = {"derived": "inv"}
    inverted = [
        row("a", seed, "de", score, axes=axes, cell=f"i{seed}", run=f"i{seed}")
        for seed, score in enumerate(LOW)
    ]
    plain = [row("a", seed, "de", score, axes={"derived": "no"}) for seed, score in enumerate(HIGH)]
    one = finding(system="a", axes={"derived": "no"}, against={"axes": axes})
    assert verdict(one, ScoreTable([*inverted, *plain])).verdict == "confirmed"


def test_a_transfer_gap_has_the_main_metric_by_default():
    zero_shot, supervised = table(LOW, HIGH), table([95] * 5, [96] * 5, setting="supervised")
    found = verdict(finding(setting="difference"), ScoreTable([*zero_shot, *supervised]))
    assert (found.verdict, found.means) == ("confirmed", (34.0, 43.0))


def test_a_family_is_corrected_together():
    noise = [50.0, 60.0, 50.0, 60.0, 50.0]
    found = judge({f"f{n}": finding() for n in range(6)}, table(LOW, HIGH), 5)
    assert [one.p for one in found] == pytest.approx([6 * 2 / 252] * 6)
    assert {one.verdict for one in found} == {
        "confirmed"
    }  # six are the most that five runs can confirm
    alone = judge({"f": finding(), "g": finding(family="other")}, table(noise, HIGH), 5)
    assert {one.p for one in alone} == {verdict(finding(), table(noise, HIGH)).p}


@pytest.mark.parametrize("kind", ["better", "equal"])
def test_false_verdicts_are_rare(kind):
    """At most 6.5 % false verdicts in 1000 studies at the border: no difference, or one of exactly the margin."""
    rng, wrong = np.random.default_rng(7), Counter()
    for _ in range(1000):
        a, b = rng.normal(50, 1, 5), rng.normal(50, 1, 5)
        if kind == "better":
            wrong["confirmed"] += verdict(finding(), table(a, b)).verdict == "confirmed"
            wrong["refuted"] += verdict(finding(), table(a, b + 2.0)).verdict == "refuted"
        else:
            wrong["confirmed"] += (
                verdict(finding(kind="equal"), table(a, b + 2.0)).verdict == "confirmed"
            )
            wrong["refuted"] += (
                verdict(finding(kind="equal"), table(a, b - 2.0)).verdict == "refuted"
            )
    assert max(wrong.values()) <= 65


def test_the_table_shows_verdicts():
    found = judge(
        {"x": finding(source="Paper, table 1"), "y": finding(language="fr")}, table(LOW, HIGH), 5
    )
    [shown] = findings_tables(found, "s")
    first = [
        "Paper, table 1",
        "all",
        "confirmed",
        "62.0",
        "52.0",
        "10.0",
        "7.2 to 12.8",
        "2 %",
        "0.016",
        "5",
    ]
    assert texts(shown.lines[0].entries) == first
    assert texts(shown.lines[1].entries)[2:6] == ["pending", "", "", ""]
    assert findings_tables([], "s") == []


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"system": "c"}, r"findings\.f0\.system: no system 'c'"),
        ({"against": {"system": "bb"}}, r"no system 'bb'; did you mean 'b'"),
        ({"task": ""}, r"findings\.f0\.task: missing"),
        ({"axes": {"train.steps": 3}}, r"the study has no train\.steps = 3"),
        ({"margin": 0.0}, "margin"),
    ],
)
def test_studies_check_their_findings(changes, message):
    systems = {name: {"recipe": "tiny/mlm"} for name in "ab"}
    claims = {"f0": {**CLAIM, "family": "all", "margin": 1.0, **changes}}
    with pytest.raises(SettingsError, match=message):
        Study(name="s", systems=systems, axes={"train.steps": [1, 2]}, findings=claims)
    claims = {f"f{n}": {**CLAIM, "family": "all", "margin": 1.0} for n in range(7)}
    with pytest.raises(SettingsError, match="family 'all' has 7 findings; at most 6"):
        Study(name="s", systems=systems, findings=claims)
