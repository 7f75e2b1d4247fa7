"""The table of scores in the terminal."""

from interlace.cli.common.tables import comparison_table, score_table


def row(language, score, setting="zero-shot", seed=0):
    about = {"task": "pos", "metric": "accuracy", "unit": "%", "source": "en"}
    return {**about, "language": language, "setting": setting, "seed": seed, "score": score}


def cells(table):
    """The body of a table, cell by cell."""
    return [list(map(str, cells)) for cells in zip(*(column.cells for column in table.columns), strict=True)]


def test_settings_of_one_task_are_not_averaged():
    rows = [row("en", 80.0), row("en_x", 30.0), row("en_x", 70.0, "supervised")]
    assert cells(score_table(rows)) == [
        ["pos\n(accuracy, %)", "80.0", "30.0", "30.0"],
        ["pos, supervised\n(accuracy, %)", "–", "70.0", "70.0"],
    ]
    human, machine = row("de", 80.0, "translate-test"), row("de", 60.0, "translate-test", seed=1)
    assert [line[:2] for line in cells(score_table([human | {"translations": "human"}, machine]))] == [
        ["pos, translate-test, oracle\n(accuracy, %)", "80.0"],
        ["pos, translate-test\n(accuracy, %)", "60.0"],
    ]


def test_averages_over_seeds_not_recipes():
    one = [row("de", 30.0, seed=0), row("de", 40.0, seed=1)]
    assert cells(comparison_table({"mlm": one, "tlm": [row("de", 50.0)]})) == [
        ["pos\n(accuracy, %)", "mlm", "35.0 ±7.1", "35.0 ±7.1"],
        ["", "tlm", "50.0", "50.0"],
    ]


def test_scores_over_held_out_words_are_labelled():
    learnt = row("de", 30.0) | {"scores": {"accuracy": 30.0, "accuracy, all": 60.0, "held out": 50.0}}
    assert cells(comparison_table({"align_mlm": [learnt], "mlm": [row("de", 50.0)]})) == [
        ["pos\n(accuracy, held-out, %)", "align_mlm", "30.0", "30.0"],
        ["pos\n(accuracy, all, %)", "mlm", "50.0", "50.0"],
    ]


def test_caption_names_candidates_majority_class_and_lower_is_better():
    rows = [row(language, 30.0) | {"task": "word_translation"} for language in ("de", "fr")]
    sets = [{"candidates": {"vocabulary": size}} for size in (200_000, 1234)]
    caption = score_table([one | more for one, more in zip(rows, sets, strict=True)]).caption
    assert caption == "Candidates: word_translation, vocabulary (1,234 to 200,000)."
    assert score_table([row("de", 30.0)]).caption is None
    scores = {"accuracy": 35.0, "majority class": 33.3}
    table = score_table([row("de", 35.0) | {"task": "xnli", "scores": scores}])
    assert table.caption == "Accuracy of the most frequent class: xnli 33.3 %."
    errors = {**row("en-de", 30.0), "task": "word_alignment", "metric": "aer", "greater_is_better": False}
    table = score_table([row("de", 40.0), errors])
    assert [line[0] for line in cells(table)] == ["pos\n(accuracy, %)", "word_alignment ↓\n(aer, %)"]
    assert table.caption == "↓: lower is better."


def test_title_says_that_the_mean_excludes_the_source():
    assert "without the source" in str(score_table([row("en", 80.0), row("de", 40.0)]).title)
    assert "without the source" not in str(score_table([row("en-de", 80.0), row("de-en", 40.0)]).title)


def tuned(language, value, seed, collapsed):
    return {**row(language, value, seed=seed), "tuning": {"collapsed": collapsed}, "key": "k"}


def test_collapsed_fine_tunings_are_marked_and_counted():
    rows = [
        tuned("en", 80.0, 0, False),
        tuned("en", 30.0, 1, True),
        tuned("de", 60.0, 0, False),
        row("de", 40.0, seed=2),
    ]
    table = score_table([*rows, tuned("hi", 33.0, 1, True)])
    assert cells(table) == [["pos\n(accuracy, %)", "55.0 ±35.4‡", "50.0 ±14.1", "33.0‡", "44.3 ±14.0‡"]]
    assert "‡: includes a collapsed fine-tuning (1 of 2 here)" in str(table.caption)
