"""What is told of scores beside the main one."""

from __future__ import annotations

import json

import pytest

from interlace.report import write_report
from interlace.report._other_scores import other_scores
from interlace.report._run import read_runs
from interlace.report._scores import tables


def row(language, seed, f1, exact, **more):
    scores = {"f1": f1, "exact": exact, **more}
    return {
        "task": "mlqa", "metric": "f1", "unit": "%", "source": "en", "n": 100, "language": language, "seed": seed,
        "score": round(f1, 4), "scores": scores,
    }  # fmt: skip


@pytest.fixture
def run(tmp_path):
    """A run's folder with these scores."""

    def make(name, scores):
        (tmp_path / name).mkdir()
        (tmp_path / name / "recipe.json").write_text(json.dumps({"name": name, "seed": 1}))
        (tmp_path / name / "scores.json").write_text(json.dumps(scores))
        return tmp_path / name

    return make


def others(*folders):
    runs = read_runs(folders)
    (table,) = tables(runs)
    return other_scores(runs, table)


def test_means_over_seeds_stand_by_language_and_recipe(run):
    one = run("one", [row("de", 0, 50.0, 30.0), row("de", 1, 60.0, 34.0), row("en", 0, 70.0, 60.0, ceiling=99.0)])
    two = run("two", [row("de", 0, 40.0, float("nan"))])
    found = others(one, two)
    assert found.names == ["exact", "ceiling"]
    assert found.lines == [("one", "en", [60, 99]), ("one", "de", [32, None]), ("two", "de", [None, None])]


def test_the_main_score_under_its_full_name_is_not_told_twice(run):
    assert others(run("one", [row("de", 0, 50.123456, 30.0, **{"f1 of words": 50.1235})])).names == ["exact"]


def test_a_task_with_one_score_has_no_others(run):
    found = others(run("one", [{**row("de", 0, 50.0, 0.0), "scores": {"f1": 50.0}}]))
    assert (found.names, found.lines) == ([], [])


def test_the_page_shows_them_folded(run, tmp_path):
    page = write_report([run("one", [row("de", 0, 50.0, 31.5), row("en", 0, 70.0, 60.0)])], tmp_path / "page.html")
    text = page.read_text(encoding="utf-8")
    assert "<summary>Other scores</summary>" in text
    assert '<th scope="col">exact</th>' in text
    assert "31.50" in text
    assert '<th scope="col">Recipe</th>' not in text


def probe(value, **more):
    return {
        "task": "embedding_alignment", "metric": "p@1", "unit": "%", "source": "en", "n": 100, "language": "de",
        "seed": 0, "score": value, "scores": {"p@1": value, **more},
    }  # fmt: skip


LEARNT = {"p@1, all": 60.0, "p@1, seen": 90.0, "held out": 50.0}


def test_scores_over_held_out_words_are_told_apart_from_scores_over_all(run, tmp_path):
    folders = [run("align_mlm", [probe(30.0, **LEARNT)]), run("mlm", [probe(50.0)])]
    (table,) = tables(read_runs(folders))
    assert table.asked == {"align_mlm": "held-out words", "mlm": "all words"}
    assert others(*folders).lines[1] == ("mlm", "de", [50.0, None, None])  # its main score is over all words
    text = write_report(folders, tmp_path / "page.html").read_text(encoding="utf-8")
    assert "<small>held-out words</small></th>" in text
    assert "<small>all words</small></th>" in text
    assert "is over them for align_mlm, and over all words for mlm: these do not compare" in text


@pytest.mark.parametrize(
    ("scores", "asked"),
    [
        ({}, {}),
        ({**LEARNT, "held out": 0.0}, {}),  # training has read them all, and so the score is over all
        (LEARNT, {"mlm": "held-out words"}),
    ],
)
def test_nothing_is_said_of_words_where_none_are_left_out(run, scores, asked):
    (table,) = tables(read_runs([run("mlm", [probe(50.0, **scores)])]))
    assert table.asked == asked
