"""Scores of a report: tables of languages by systems, their sections, and the summary of the page."""

import re

import numpy as np
import pytest

import interlace.report
from interlace.report import read_scores, write_report
from interlace.report.comparison_table import ComparisonTable
from interlace.report.overview import overview
from interlace.report.page import page_head
from interlace.report.runs import read_runs
from interlace.scores.comparison import compare
from interlace.scores.examples import Examples
from interlace.training.predictions import outcomes_file, write_outcomes
from report_runs import bare_run, change, score, section

SPACE = "\N{NARROW NO-BREAK SPACE}"


def only(*folders):
    [task] = ComparisonTable(read_scores(folders)).tasks
    return task


def table_of(*folders):
    """The table of the only task."""
    comparison = ComparisonTable(read_scores(folders))
    [name] = comparison.tasks_by_table
    return comparison.task_table(name)


def cells(scores, language):
    """By system its result in a language, "" for the mean."""
    measure = next(measure for measure in scores.measures if measure.language == language)
    return {system.label: result for system, result in scores.results[measure].items()}


def column(table, name):
    """By system the cell in a column."""
    at = [column.name for column in table.columns].index(name)
    return {line.label: line.entries[at] for line in table.lines}


def test_mean_range_and_marks(tmp_path):
    found = {"a": {"de": (50, 54), "en": (90, 91)}, "b": {"de": (60, 61), "en": (89, 91)}}
    rows = {
        name: [score(la, v, seed) for la in each for seed, v in enumerate(each[la])]
        for name, each in found.items()
    }
    runs = [bare_run(tmp_path / name, name, each) for name, each in rows.items()]
    scores, table = only(*runs), table_of(*runs)
    assert [measure.language for measure in scores.measures] == ["en", "de"], (
        "the source language comes first"
    )
    cell = cells(scores, "de")["a"]
    assert (cell.mean, cell.ends, len(cell.values), cell.n) == (52, (50, 54), 2, 100)
    german = column(table, "de")
    assert [(str(one), one.small) for one in german.values()] == [
        ("52.0", "50.0–54.0"),
        ("60.5", "60.0–61.0"),
    ]
    assert column(table, "runs")["a"].text == "1"
    assert not any(one.bold or one.significant for one in german.values()), "one run each"


def test_mean_is_over_languages_that_all_systems_have(tmp_path):
    rows = [score(language, 40) for language in ("de", "tr", "en", "hi")]
    runs = [
        bare_run(tmp_path / "a", "a", rows),
        bare_run(tmp_path / "b", "b", [score("de", 1), score("tr", 3)]),
    ]
    table = table_of(*runs)
    assert [column.name for column in table.columns] == ["runs", "en", "others", "de", "hi", "tr"]
    assert "others: mean of de, tr." in table.caption
    assert "Mean of 2 shared" in section("scores", runs, "Scores").body
    assert column(table, "hi")["b"] is None


def test_caption_names_scores_that_are_not_finite(tmp_path):
    run = bare_run(tmp_path / "c", "a", [score("de", float("nan")), score("de", 5, 1)])
    assert cells(only(run), "de")["a"].values == [5]
    assert "Left out, not finite: 1 scores." in table_of(run).caption


@pytest.mark.parametrize(
    ("first", "second", "differs"),
    [
        ({"n": 40}, {"n": 1000}, True),
        ({"n": 40, "examples": "ab"}, {"n": 44, "examples": "ab"}, False),
        ({"n": 40, "examples": "ab"}, {"n": 40, "examples": "cd"}, True),
        ({"n": 40, "examples": "ab"}, {"n": 40}, False),
        ({"n": 40, "examples": "ab"}, {"n": 44}, True),
    ],
)
def test_different_test_examples_are_noted(first, second, differs, tmp_path):
    runs = [
        bare_run(tmp_path / n, n, [score("de", 50, **row)])
        for n, row in (("a", first), ("b", second))
    ]
    assert ("different test examples in: de" in table_of(*runs).caption) is differs
    drawn = [
        score("de", 50, seed, examples=f"drawn {seed}") for seed in (0, 1)
    ]  # other examples in each seed
    assert (
        "different test" not in table_of(*(bare_run(tmp_path / n, n, drawn) for n in "cd")).caption
    )


# ---- the section ----


def test_single_measurement_has_a_bootstrap_interval(tmp_path):
    rows = [
        score("de", 50, low=40.2, high=59.8),
        score("tr", 30, low=29.0, high=31.0),
        score("tr", 34, seed=1),
    ]
    found = section("scores", [bare_run(tmp_path / "a", "a", rows)], "Scores")
    body = found.body
    assert re.findall(r"<small>(95 %: 40.2–59.8|30.0–34.0)</small>", body) == [
        "95 %: 40.2–59.8",
        "30.0–34.0",
    ]
    assert "a: 50.0 (40.2–59.8)" in body
    assert "lowest to highest measurement, or the bootstrap interval" in found.lead
    plain = section("scores", [bare_run(tmp_path / "b", "b", [score("de", 50)])], "Scores").body
    assert not re.search("Bold|†", plain)


@pytest.mark.parametrize("count", [8, 9])
def test_many_systems_are_rows_of_the_chart(tmp_path, count):
    runs = [
        bare_run(
            tmp_path / f"r{number}", f"recipe {number}", [score("en", 90), score("de", 50 + number)]
        )
        for number in range(count)
    ]
    body = section("scores", runs, "Scores").body
    named = re.findall(r'<text x="0" y="[0-9.]+" class="tick">(?:recipe )?\d</text>', body)
    assert len(named) == (9 if count == 9 else 0)
    assert ('class="keys"' in body) is (count == 8)
    assert ("German: 50" in body) is (count == 9)


def test_collapsed_fine_tunings_are_marked(tmp_path):
    def scores(*collapsed):
        return [
            score(language, 33.0, seed, task="xnli", tuning={"collapsed": flat})
            for seed, flat in enumerate(collapsed)
            for language in ("en", "de", "tr")
        ]

    runs = [
        bare_run(tmp_path / "a", "a", scores(True, False)),
        bare_run(tmp_path / "b", "b", scores(False, False)),
    ]
    for name in ("de", "others"):
        assert [str(entry) for entry in column(table_of(*runs), name).values()] == ["33.0‡", "33.0"]
    assert "(1 of 4 here)" in section("scores", runs, "Scores").body
    assert "33.0‡" in section("transfer_gap", runs, "gap").body
    assert "33.0‡" in section("published", runs, "Published").body
    assert "‡" not in write_report(runs[1:], tmp_path / "page.html").read_text(encoding="utf-8")


def test_transfer_gap_is_below_each_score(make_run):
    folder = make_run("mlm", gain=0.0)
    body = section("transfer_gap", [folder], "gap").body
    for one in ComparisonTable(read_scores([folder])).tasks:
        source = cells(one, "en")["mlm"].mean
        for language in ("de", "hi"):
            mean = cells(one, language)["mlm"].mean
            assert f">{mean:.1f}<" in body
            assert f">{mean - source:+.1f}<".replace("-", "−") in body
    change(folder, "scores.json", lambda rows: [row for row in rows if row["language"] != "en"])
    assert "−" not in section("transfer_gap", [folder], "gap").body


def answers(language, seed, f1, exact, **more):
    return score(
        language, f1, seed, task="mlqa", metric="f1", scores={"f1": f1, "exact": exact, **more}
    )


def test_other_metrics_are_means_by_language_and_system(tmp_path):
    rows = [
        answers("de", 0, 50.0, 30.0),
        answers("de", 1, 60.0, 34.0),
        answers("en", 0, 70.0, 60.0, ceiling=99.0),
    ]
    one = bare_run(tmp_path / "one", "one", rows)
    table = only(
        one, bare_run(tmp_path / "two", "two", [answers("de", 0, 40.0, float("nan"))])
    ).other_metrics()
    assert [column.name for column in table.columns] == ["System", "exact", "ceiling"]
    assert [
        [line.label, *(entry and entry.text for entry in line.entries)] for line in table.lines
    ] == [
        ["English", "one", "60.00", "99.00"],
        ["German", "one", "32.00", None],
    ]
    assert "Other metrics" in section("scores", [one], "Scores").body
    assert only(bare_run(tmp_path / "x", "x", [score("de", 1)])).other_metrics() is None


HELD_OUT = "p@1 is over held-out words"
LEARNT = {"p@1, all": 60.0, "p@1, seen": 90.0, "held out": 50.0}


def probe(value, **more):
    return score(
        "de", value, task="embedding_alignment", metric="p@1", scores={"p@1": value, **more}
    )


@pytest.mark.parametrize(
    ("more", "named"), [({}, False), ({**LEARNT, "held out": 0.0}, False), (LEARNT, True)]
)
def test_words_are_named_only_if_held_out(tmp_path, more, named):
    runs = [bare_run(tmp_path / name, name, [probe(50.0, **more)]) for name in ("align", "dict")]
    assert only(*runs).first.metric == "p@1"
    assert (HELD_OUT in table_of(*runs).caption) is named
    assert ("held-out" in overview(read_scores(runs)).lines[0].label) is named


def head(*folders):
    found = page_head(read_runs(folders))
    return found.title, found.summary, found.caution


def test_summary_compares_the_best_two_systems_of_the_first_task(two_runs, tmp_path):
    heading, text, care = head(*two_runs)
    assert heading == "Zero-shot transfer from English"
    best = f"Part-of-speech tagging: mlm+tlm 79.5{SPACE}% and mlm 60.0{SPACE}% (one run each, not tested)."
    assert text == f"Mean over 5 languages other than English. {best}"
    assert (
        "Single pre-training run: mlm, mlm+tlm; differences between methods are not tested" in care
    )
    rows = [("ner", "de", 10), ("mlqa", "de", 30), ("mlqa", "es", 50), ("pos", "de", 60)]
    text = head(bare_run(tmp_path / "a", "", [score(la, v, task=task) for task, la, v in rows]))[1]
    assert text == f"German. Named entities: a 10.0{SPACE}%."


@pytest.mark.parametrize(
    ("values", "verdict"),
    [
        (
            [[50, 51, 52, 53], [60, 61, 62, 63]],
            f"61.5{SPACE}% better than r0 51.5{SPACE}% (p = 0.029).",
        ),
        (
            [[50, 52, 54, 56], [51, 53, 55, 57]],
            f"not significantly different from r0 53.0{SPACE}% (p = 0.69).",
        ),
        ([[50, 51, 52], [60, 61, 62]], "(p = 0.1, cannot be significant with so few runs)."),
        (
            [[50, 51, 52, 53], [60, 61, 62, 63], [70, 71, 72, 73]],
            "(p = 0.057, cannot be significant with so few runs).",
        ),
    ],
)
def test_summary_says_what_the_test_supports(make_run, values, verdict):
    folders = [make_run(f"r{number}", gain=0.5) for number in range(len(values))]
    for folder, some in zip(folders, values, strict=True):
        (folder / "recipe.json").unlink()
        change(folder, "scores.json", lambda rows, some=some: [
            {**row, "seed": seed, "score": value} for row in rows if row["seed"] == 0 for seed, value in enumerate(some)
        ])  # fmt: skip
    assert head(*folders)[1].endswith(verdict)


def test_main_table_has_the_means_of_all_tasks(tmp_path):
    rows = [("pos", "de", 10.0), ("pos", "es", 20.0), ("ner", "hi", 30.0)]
    for name, more in (("a", 0), ("b", 5)):
        bare_run(
            tmp_path / name,
            "",
            [score(language, value + more, task=task) for task, language, value in rows],
        )
    table = ComparisonTable(read_scores([tmp_path / "a", tmp_path / "b"])).main()
    assert [(column.group, column.name) for column in table.columns[1:]] == [
        ("pos (accuracy, %)", "mean"), ("ner (accuracy, %)", "hi")
    ]  # fmt: skip
    assert [(line.label, *map(str, line.entries[1:])) for line in table.lines] == [
        ("a", "15.0", "30.0"), ("b", "20.0", "35.0")
    ]  # fmt: skip


def test_unfinished_runs_and_pre_training_seeds_are_named(make_run, caplog):
    runs = [make_run("a", folder=f"a-{seed}", gain=0.0, seed=seed) for seed in (1, 2)]
    (runs[0] / "run.json").unlink()
    care = head(*runs)[2]
    assert care.startswith("Training not finished: a-1.")
    assert "a-1: training is not finished" in caplog.text
    assert "Measurements per system: 6." in care
    assert "Single pre-training run" not in care
    assert "Single pre-training run: b;" in head(*runs, make_run("b", gain=1.0))[2]


def test_without_scores_or_means(make_run, tmp_path):
    folder = make_run("mlm", gain=0.0)
    (folder / "scores.json").unlink()
    assert head(folder) == ("Cross-lingual pre-training", "No task has been scored yet.", "")
    probes = [
        bare_run(
            tmp_path / name, "", [score(language, 50.0, task="retrieval") for language in languages]
        )
        for name, languages in (("a", ("de", "es")), ("b", ("hi", "tr")))
    ]
    assert head(*probes)[:2] == (
        "Probes of cross-lingual models",
        "No mean over languages that all systems share.",
    )
    assert section("scores", probes, "Scores").lead.startswith("No fine-tuning")
    translated = bare_run(
        tmp_path / "mt", "", [score("en-de", 30.0, task="mt", metric="bleu", unit="BLEU")]
    )
    assert head(translated)[0] == "Translation"


def store_outcomes(folder, language, right):
    """Store outcomes of test examples for the score of a run, as `evaluate` does."""
    each = Examples(np.array(right, float), np.ones(len(right)), "same")
    write_outcomes(outcomes_file(folder, "pos", 0), language, each, "")


def test_single_runs_are_compared_over_paired_examples(tmp_path):
    before = bare_run(tmp_path / "before", "before", [score("de", 50.0), score("es", 50.0)])
    after = bare_run(tmp_path / "after", "after", [score("de", 60.0), score("es", 50.0)])
    assert "other examples" not in section("differences", [before, after], "Differences").body, (
        "nothing is stored"
    )
    half = [1, 0] * 500
    better = [1] * 200 + half[200:]
    for language, right in (("de", better), ("es", half)):
        store_outcomes(before, language, half)
        store_outcomes(after, language, right)
    found = section("differences", [before, after], "Differences")
    assert "Differences from before, the baseline." in found.lead
    assert "about these models, not about the methods" in found.lead
    assert re.search(
        r"<td class=\"text\">de<.*?\+10\.0<.*?1° \(1\).*?\+10\.0.*?&lt; 0\.001 \(1000\)",
        found.body,
        re.DOTALL,
    )
    again = bare_run(tmp_path / "again", "after", [score("de", 61.0), score("es", 50.0)], seed=2)
    body = section("differences", [before, after, again], "Differences").body
    assert "other runs" in body
    assert "other examples" not in body, "two runs are no single model"


def test_comparing_over_examples_reads_the_outcomes_of_runs(tmp_path):
    folders = [bare_run(tmp_path / name, name, [score("de", 50.0)]) for name in ("a", "b")]
    for folder, right in zip(folders, ([1, 0] * 50, [1, 1] * 50), strict=True):
        store_outcomes(folder, "de", right)
    [found] = compare(
        read_scores(folders), unit="examples", outcomes=interlace.report.read_outcomes
    )
    assert (found.difference.value, found.n) == (50.0, 100)


def test_languages_are_in_one_order_whatever_the_order_of_scores(tmp_path):
    languages = ["hi", "en", "de", "es"]
    for number, order in enumerate((languages, languages[::-1])):
        folder = bare_run(
            tmp_path / str(number), "a", [score(language, 50.0) for language in order]
        )
        table = read_scores([folder])
        assert [column.name for column in overview(table).columns] == [
            "en",
            "de",
            "es",
            "hi",
            "mean",
        ]
        [task] = ComparisonTable(table).tasks
        assert [measure.language for measure in task.measures] == ["en", "", "de", "es", "hi"]
