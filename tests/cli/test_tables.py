"""The table of scores in the terminal."""

from interlace.report.score_tables import overview
from interlace.scores import ScoreTable, table_of_entries


def row(language, score, setting="zero-shot", seed=0):
    about = {"task": "pos", "metric": "accuracy", "unit": "%", "source": "en"}
    return {**about, "language": language, "setting": setting, "seed": seed, "score": score}


def table_of(rows, **others):
    """The overview of one system's entries, and those of others by name."""
    found = {"one": rows, **others}
    return overview(ScoreTable(score for name, some in found.items() for score in entries(name, some)))


def entries(name, rows):
    return table_of_entries(rows, run=name, system=name, label=name)


def cells(table):
    """The body of a table, cell by cell."""
    return [[line.label, *("–" if entry is None else str(entry) for entry in line.entries)] for line in table.lines]


def test_settings_of_one_task_are_not_averaged():
    rows = [row("en", 80.0), row("en_x", 30.0), row("en_x", 70.0, "supervised")]
    assert cells(table_of(rows)) == [
        ["pos\n(accuracy, %)", "80.0", "30.0", "30.0"],
        ["pos, supervised\n(accuracy, %)", "–", "70.0", "70.0"],
    ]
    human, machine = row("de", 80.0, "translate-test"), row("de", 60.0, "translate-test", seed=1)
    assert [line[:2] for line in cells(table_of([human | {"translations": "human"}, machine]))] == [
        ["pos, translate-test, oracle\n(accuracy, %)", "80.0"],
        ["pos, translate-test\n(accuracy, %)", "60.0"],
    ]


def test_averages_over_seeds_not_recipes():
    one = [row("de", 30.0, seed=0), row("de", 40.0, seed=1)]
    assert cells(table_of(one, tlm=[row("de", 50.0)])) == [
        ["pos\n(accuracy, %)", "one", "35.0 ± 7.1", "35.0 ± 7.1"],
        ["pos\n(accuracy, %)", "tlm", "50.0", "50.0"],
    ]


def test_scores_over_held_out_words_are_labelled():
    learnt = row("de", 30.0) | {"scores": {"accuracy": 30.0, "accuracy, all": 60.0, "held out": 50.0}}
    assert cells(table_of([learnt], mlm=[row("de", 50.0)])) == [
        ["pos\n(accuracy, held-out, %)", "one", "30.0", "30.0"],
        ["pos\n(accuracy, all, %)", "mlm", "50.0", "50.0"],
    ]


def test_caption_names_candidates_majority_class_and_lower_is_better():
    rows = [row(language, 30.0) | {"task": "word_translation"} for language in ("de", "fr")]
    sets = [{"candidates": {"vocabulary": size}} for size in (200_000, 1234)]
    caption = table_of([one | more for one, more in zip(rows, sets, strict=True)]).caption
    assert caption == "Candidates: word_translation, vocabulary (1,234 to 200,000)."
    assert not table_of([row("de", 30.0)]).caption
    scores = {"accuracy": 35.0, "majority class": 33.3}
    table = table_of([row("de", 35.0) | {"task": "xnli", "scores": scores}])
    assert table.caption == "Accuracy of the most frequent class: xnli 33.3 %."
    errors = {**row("en-de", 30.0), "task": "word_alignment", "metric": "aer", "greater_is_better": False}
    table = table_of([row("de", 40.0), errors])
    assert [line[0] for line in cells(table)] == ["pos\n(accuracy, %)", "word_alignment ↓\n(aer, %)"]
    assert table.caption == "↓: lower is better."


def test_title_says_that_the_mean_excludes_the_source():
    assert "without the source" in table_of([row("en", 80.0), row("de", 40.0)]).title
    assert "without the source" not in table_of([row("en-de", 80.0), row("de-en", 40.0)]).title


def tuned(language, value, seed, collapsed):
    return {**row(language, value, seed=seed), "tuning": {"collapsed": collapsed}, "key": "k"}


def test_collapsed_fine_tunings_are_marked_and_counted():
    rows = [tuned(language, 60.0, 0, collapsed=False) for language in ("en", "de", "hi")]
    rows += [tuned(language, 30.0, 1, collapsed=language != "de") for language in ("en", "de", "hi")]
    table = table_of(rows)
    assert cells(table) == [["pos\n(accuracy, %)", "45.0 ± 21.2‡", "45.0 ± 21.2", "45.0 ± 21.2‡", "45.0 ± 21.2‡"]]
    assert "‡: includes a collapsed fine-tuning (1 of 2 here)" in table.caption
