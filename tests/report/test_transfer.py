"""Transfer gaps, their correlation with alignment, and published rows below."""

from dataclasses import replace

import pytest

from interlace.experiments.recipe import Recipe
from interlace.report.published_rows import cited_by
from interlace.report.transfer import transfer_tables
from interlace.scores import ScoreTable
from interlace.scores.held_out import over_all_words
from study_rows import row, texts

PROBE = {"task": "embedding_alignment", "metric": "p@1"}


def lines(scores, places=()):
    """The texts of each line of the table by label, with the figures of papers below."""
    published = [{"where": f"Tang et al. 2022, {place}"} for place in places]
    cited = cited_by([Recipe.read({"name": "r", "published": published})])
    labelled = {}
    for table in transfer_tables(ScoreTable(scores), "t", cited):
        labelled |= {line.label: texts(line.entries) for line in table.lines}
    return labelled


def derived(system, seed, supervised, zero_shot, alignment):
    """Scores of a system in a derived language; alignment: by metric."""
    scores = [row(system, seed, "en", 90.0), row(system, seed, "en_x", zero_shot)]
    scores.append(row(system, seed, "en_x", supervised, setting="supervised"))
    for metric, value in alignment.items():
        probe = {**PROBE, "metric": metric, "main": metric == "p@1"}
        scores.append(row(system, seed, "en_x", value, **probe))
    return scores


@pytest.fixture
def mlm():
    return derived("mlm", 0, 80.0, 50.0, {"p@1": 10.0})


def test_rows_have_scores_gap_and_alignment(mlm):
    align = {"p@1": 40.0, "p@1, all": 60.0, "p@1, seen": 99.0, "held out": 70.0}
    seconds = derived("mlm", 1, 84.0, 60.0, {"p@1": 20.0})
    assert lines([*mlm, *seconds, *derived("align", 0, 81.0, 75.0, align)]) == {
        "MLM": ["82.0", "55.0", "27.0", "15.0", None, None],
        "ALIGN": ["81.0", "75.0", "6.0", "60.0", "99.0", "40.0"],
    }
    other = [replace(score, language="en_y") for score in mlm if score.language == "en_x"]
    assert set(lines([*mlm, *other])) == {"MLM, mean", "MLM, en_x", "MLM, en_y"}


def test_without_supervised_scores_the_gap_is_to_the_source():
    scores = [row("a", 0, "en", 90.0), row("a", 0, "de", 50.0), row("a", 0, "es", 60.0)]
    assert lines(scores) == {"A": ["90.0", "55.0", "35.0", None, None, None]}
    assert lines(scores[1:]) == {}


def test_the_gap_is_of_each_run():
    scores = [
        row("a", 0, "en", 95.0),
        row("a", 0, "en_x", 80.0),
        row("a", 0, "en_x", 90.0, seed=1),
    ]
    scores.append(row("a", 0, "en_x", 90.0, setting="supervised"))
    assert lines(scores)["A"][2] == "10.0"  # 90 minus 80: the seed that has both


def probed(alignment, german, **columns):
    """Systems with P@1 of a probe and a score in German; all have 90 in English."""
    rows = []
    for number, (aligned, score) in enumerate(zip(alignment, german, strict=True)):
        name = f"s{number}"
        rows += [row(name, 0, "en", 90.0, **columns), row(name, 0, "de", score, **columns)]
        rows.append(row(name, 0, "de", aligned, task="retrieval", metric="p@1", **columns))
    return rows


HARD = probed([1, 2, 3, 4], [24, 23, 22, 21], axes={"k": "hard"})
EASY = probed([51, 52, 53, 54], [74, 73, 72, 71], axes={"k": "easy"})


@pytest.mark.parametrize(
    ("scores", "correlation", "p"),
    [
        (probed([1, 2, 3], [1, 2, 3]), "-1.00", "p = 0.33, n = 3 x 1"),
        # one exchange of neighbours in 120 orders
        (probed([10, 20, 30, 40, 50], [50, 60, 65, 80, 70]), "-0.90", "p = 0.083, n = 5 x 1"),
        # ranked within each condition
        ([*HARD, *EASY], "1.00", "p = 0.083, n = 4 x 2"),
    ],
)
def test_alignment_is_correlated_with_the_gap(scores, correlation, p):
    _, table = transfer_tables(ScoreTable(scores), "t")
    [[entry]] = [line.entries for line in table.lines]
    assert (entry.text, entry.small) == (correlation, p)


def test_two_systems_are_not_correlated():
    assert len(transfer_tables(ScoreTable(probed([1, 2], [1, 2])), "t")) == 1


def test_alignment_over_all_words_is_correlated_beside_the_papers():
    # gaps 5, 20, 10, 30 and alignment 80, 40, 60, 20: a perfect order over all words
    tags = []
    figures = zip([80, 40, 60, 20], [90, 80, 85, 75], [85, 60, 75, 45], strict=True)
    for number, (aligned, supervised, zero_shot) in enumerate(figures):
        probe = {"p@1": aligned - 10, "p@1, all": aligned} if number else {"p@1": aligned}
        tags += derived(f"s{number}", 0, supervised, zero_shot, probe)
    names = [replace(score, task="ner", metric="f1") for score in tags if score.task == "pos"]
    found = lines([*tags, *names])
    assert found["embedding_alignment (p@1, all)"] == ["-1.00", "-1.00"]
    theirs = found["Tang et al. 2022, appendix E"]
    assert theirs == [None, "-0.78"]  # theirs of tags is with F1, not with accuracy
    assert [score.score for score in over_all_words(ScoreTable(tags))][:2] == [80.0, 40.0]


def test_published_figures_are_below_ours_of_the_same_metric(mlm):
    f1 = []
    for score in mlm:
        if score.task == "pos":
            f1.append(replace(score, metric="f1", main=False, score=score.score - 2))
    places = ["table 3, MLM, Trans + Inv", "table 8, MLM, Trans + Inv"]
    found = lines([*mlm, *f1], places)
    assert found["MLM"] == ["80.0", "50.0", "30.0", "78.0", "48.0", "30.0", "10.0", None, None]
    theirs = [f"Tang et al. 2022, {place}" for place in places]
    assert found[theirs[0]][3:6] == ["95.0", "56.5", "38.5"]
    assert found[theirs[1]][6:] == ["0.3", None, None]
    assert list(lines(mlm, places[:1])) == ["MLM"]
