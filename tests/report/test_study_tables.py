"""Tables: what they hold, when something is bold, and how they are written."""

from __future__ import annotations

from dataclasses import replace
from html.parser import HTMLParser
from io import StringIO

import pytest
from rich.console import Console

from interlace.experiments.recipe import Recipe, read_recipe
from interlace.report.study import difference_tables, tables
from interlace.report.tables import Column, Entry, Table, html_page, latex, markdown, terminal, write_tables
from interlace.scores import ScoreTable
from interlace.scores.comparison import compare
from study_rows import row, two_systems, with_dictionary


@pytest.fixture
def results():
    return two_systems()


@pytest.fixture
def recipes():
    """A recipe with what a paper reports."""
    places = [
        "Yang et al. 2021, table 1, mBERT+WEAM",  # MLQA
        "Yang et al. 2020, table 3, ALM (translate-train)",
        "Yang et al. 2020, table 3, ALM (cross-lingual test)",
    ]
    data = {"name": "x", "corpora": {"t": {"languages": ["en"], "train": "x"}}, "objectives": {"mlm": {}}}
    return {"b": Recipe.read({**data, "published": [{"where": place} for place in places]})}


@pytest.fixture
def found(results):
    return tables(results, "A & B", "a")


def cell(table, label, name):
    place = [column.name for column in table.columns].index(name)
    return next(line for line in table.lines if line.label == label).entries[place]


def test_a_mean_is_of_others_only_where_the_source_is_scored(results):
    """Translation is scored in directions: none of them is what a model was tuned on."""
    directions = {"de": "en-de", "es": "de-en"}
    rows = [replace(row, language=directions[row.language]) for row in results if row.language in directions]
    main, _ = tables(rows, "t", "a")
    assert [column.name for column in main.columns] == ["runs", "mean"]
    assert "mean: mean of en-de, de-en." in main.caption
    assert "others" not in main.caption
    (told,) = difference_tables(compare(rows, "a"), "t")
    assert {line.entries[1].text for line in told.lines} == {"mean", "en-de", "de-en"}
    assert "mean: over all languages or directions" in told.caption
    assert "others:" not in told.caption


def test_the_main_table_has_the_source_and_the_mean_of_the_others(found):
    main, pos = found
    assert [(column.group, column.name) for column in main.columns] == [
        ("", "runs"),
        ("pos (accuracy, %)", "en"),
        ("pos (accuracy, %)", "others"),
    ]
    assert [column.name for column in pos.columns] == ["runs", "en", "others", "de", "es"]
    assert cell(pos, "A", "runs").text == "4"
    assert (cell(pos, "A", "de").text, cell(pos, "A", "de").spread) == ("50.0", "0.5")
    assert "others: mean of de, es." in pos.caption


def test_only_what_the_test_tells_apart_is_bold_or_marked(found):
    _, pos = found
    assert cell(pos, "B", "de").bold
    assert cell(pos, "B", "de").significant
    assert not cell(pos, "A", "de").bold
    for label in "AB":
        assert not cell(pos, label, "es").bold
        assert not cell(pos, label, "es").significant
    assert "p < 0.05 after Holm" in pos.caption
    assert "significantly different from A" in pos.caption


def test_where_neither_is_better_nothing_is_bold(results):
    """Of translations that are too long and too short, none is the better for it; that they differ is marked."""
    _, pos = tables(ScoreTable([replace(one, greater_is_better=None) for one in results]), "A & B", "a")
    assert not any(cell(pos, label, "de").bold for label in "AB")
    assert cell(pos, "B", "de").significant


def test_two_that_are_alike_at_the_top_are_not_bold(results):
    twin = [replace(one, system="c", label="C") for one in results if one.system == "b"]
    _, pos = tables(ScoreTable([*results, *twin]), "t", "a")
    assert not any(cell(pos, label, "de").bold for label in "ABC")


def test_where_lower_is_better_the_lowest_is_bold(results):
    _, pos = tables(ScoreTable([replace(one, greater_is_better=False) for one in results]), "t", "a")
    assert cell(pos, "A", "de").bold
    assert not cell(pos, "B", "de").bold


def test_a_study_names_the_scores_that_it_shows(results):
    far = [
        replace(
            one,
            metric="distance",
            main=False,
            unit="",
            greater_is_better=False,
            score=one.score / 100,
        )
        for one in results
    ]
    main, pos = tables(ScoreTable([*results, *far]), "t", "a", metrics={"pos": ["distance", "accuracy"]})
    assert [column.group for column in pos.columns[1:]] == ["pos ↓ (distance)"] * 4 + ["pos (accuracy, %)"] * 4
    assert [column.name for column in main.columns] == ["runs", *["en", "others"] * 2]
    first = {line.label: line.entries[3] for line in pos.lines}  # German, where the nearer is the better
    assert (first["A"].bold, first["B"].bold) == (True, False)


def test_a_caption_says_when_there_are_too_few_runs(results):
    few = [one for one in results if one.pretraining_seed < 3]
    assert "smallest possible p with 3 against 3 runs is 0.1" in tables(few, "t")[1].caption
    assert "smallest possible" not in tables(results, "t")[1].caption


def test_the_least_p_is_that_of_the_systems_with_the_fewest_runs(results):
    """One run against two: three splits of three values, each of them as likely."""
    kept = {"a": 2, "b": 1}
    few = [one for one in results if one.pretraining_seed < kept.get(one.system, 2)]
    assert "smallest possible p with 1 against 2 runs is 0.33" in tables(few, "t")[1].caption
    alone = [one for one in results if one.pretraining_seed < 1]
    assert "smallest possible p with 1 against 1 runs is 1 " in tables(alone, "t")[1].caption


def test_a_caption_says_which_runs_are_fine_tunings_of_a_checkpoint(results):
    """Eight of them against four pre-trainings are one run against four: at best a fifth."""
    fixed = [row("m", None, "de", 90.0 + seed, seed=seed) for seed in range(8)]
    _, pos = tables(ScoreTable([*results, *fixed]), "t", "a")
    assert "Not pre-trained here: M;" in pos.caption
    assert "smallest possible p with 1 against 4 runs is 0.2" in pos.caption
    assert not cell(pos, "M", "de").significant
    assert not cell(pos, "M", "de").bold
    assert "Not pre-trained here" not in tables(results, "t", "a")[1].caption
    (told,) = difference_tables(compare(ScoreTable([*results, *fixed]), "a"), "t")
    assert "Not pre-trained here: M;" in told.caption


def test_scores_over_other_words_are_set_against_each_other_over_all(results):
    """A, without a dictionary, has 50 in German; B has 60 of the words it was not shown and 65 of all."""
    main, pos = tables(with_dictionary(results, {"b": 40.0}), "t", "a")
    over_held_out, whole = (place for place, column in enumerate(pos.columns) if column.name == "de")
    rows = {line.label: [line.entries[place] for place in (over_held_out, whole)] for line in pos.lines}
    assert {label: [entry.text for entry in entries] for label, entries in rows.items()} == {
        "A": ["50.0", "50.0"],
        "B": ["60.0", "65.0"],
    }
    assert [entry.bold for entry in rows["B"]] == [False, True]
    assert [entry.significant for entry in rows["B"]] == [False, True]
    told = "accuracy of pos is over held-out words, which training read no dictionary entry of, for B."
    assert told in main.caption
    assert told in pos.caption


def test_systems_of_one_dictionary_are_compared_by_the_words_held_out(results):
    _, pos = tables(with_dictionary(results, {"a": 40.0, "b": 40.0}), "t", "a")
    assert (cell(pos, "A", "de").text, cell(pos, "B", "de").text, cell(pos, "B", "de").bold) == ("50.0", "60.0", True)
    assert [column.name for column in pos.columns].count("de") == 1
    assert "held-out words" not in pos.caption


@pytest.mark.parametrize("shares", [{}, {"b": 0.0}])
def test_where_no_words_are_held_out_nothing_is_said_of_it(results, shares):
    """Of a system that has read all words the score is over all."""
    assert "held-out words" not in tables(with_dictionary(results, shares), "t")[1].caption


def test_missing_scores_leave_a_dash(results):
    _, pos = tables(ScoreTable([one for one in results if (one.system, one.language) != ("b", "es")]), "t", "a")
    assert cell(pos, "B", "es") is None
    assert "| – |" in markdown(pos)


def test_what_papers_print_of_a_task_and_setting_is_marked_as_theirs(results, recipes):
    main, xnli = tables(ScoreTable([replace(one, task="xnli") for one in results]), "t", "a", recipes)
    assert main.columns[-1].name == "published, another scale"
    [place] = [said.where for said in recipes["b"].published if "cross-lingual" in said.where]
    assert cell(main, "B", "published, another scale").text == f"xnli, zero-shot, accuracy, %: 75.6 ({place})"
    assert cell(main, "A", "published, another scale") is None
    [theirs] = [line for line in xnli.lines if line.theirs]
    assert theirs.label == f"{place} (xnli, zero-shot, accuracy, %)"
    assert [entry and entry.text for entry in theirs.entries] == [None, "85.2", None, "78", "79.2", "75.6"]
    assert "not comparable with ours" in xnli.caption


def test_what_papers_measure_otherwise_stands_in_no_table(results, recipes):
    for change in (
        {},
        {"task": "xnli", "metric": "f1"},
        {"task": "mlqa"},
        {"task": "xnli", "setting": "translate-test"},
    ):
        found = tables(ScoreTable([replace(one, **change) for one in results]), "t", "a", recipes)
        assert not any(line.theirs for table in found for line in table.lines)
        assert not any(column.is_text for table in found for column in table.columns)


def of_nepali(results):
    """What `perplexity` tells: its main score a subword, and beside it that a word."""
    subword = {"metric": "perplexity", "unit": "per subword"}
    word = {"metric": "perplexity per word", "unit": "", "main": False}
    shared = {"task": "perplexity", "language": "ne", "greater_is_better": False}
    return [replace(one, **shared, **each) for each in (subword, word) for one in results if one.language == "de"]


def test_papers_figures_stand_below_our_score_of_their_name_though_another_is_the_main_one(results):
    main, table = tables(of_nepali(results), "t", "a", {"b": read_recipe("xlm/low-resource:ne")})
    assert [column.group for column in main.columns] == ["", "perplexity ↓ (perplexity, per subword)"]
    heads = ["perplexity ↓ (perplexity, per subword)", "perplexity ↓ (perplexity per word)"]
    assert [column.group for column in table.columns] == ["", *heads, ""]
    [theirs] = [line for line in table.lines if line.theirs]
    assert [entry and entry.text for entry in theirs.entries] == [None, None, "157.2", None]
    assert theirs.label.endswith("(perplexity, perplexity, not named, likely per word)")


def test_a_unit_that_is_not_ours_is_told_beside_the_papers_figures(results):
    _, table = tables(of_nepali(results), "t", "a", {"b": read_recipe("xlm/low-resource:ne")})
    unit = "Unit: not named, likely per word (ours: perplexity per word)."
    selection = "Model selection: averaged perplexity over languages (ours: none)."
    assert f"table 4 (perplexity, perplexity): {unit} {selection} A rerun got" in table.caption


def test_selection_and_errata_are_told_beside_the_papers_figures(results, recipes):
    tuned = [replace(one, task="xnli", tuning={"rule": "mean-dev"}) for one in results]
    main, xnli = tables(tuned, "t", "a", recipes)
    for table in (main, xnli):
        assert "of which language is not in the paper (ours: mean-dev)." in table.caption
        assert "The Chinese score" in table.caption
    console = Console(file=StringIO(), width=120)
    console.print(main.caption)
    for text in (markdown(xnli), latex(xnli), html_page(xnli), " ".join(console.file.getvalue().split())):
        assert "ours: mean-dev" in text
    exact = [replace(one, task="mlqa", metric="exact") for one in results]
    assert (
        "Printing errors: AVG(zero-shot) is the mean of es, de, zh and AVG(all)"
        in tables(exact, "t", "a", recipes)[1].caption
    )


def test_each_score_has_the_figures_of_its_own_name(results, recipes):
    both = [replace(one, task="mlqa", metric=metric) for metric in ("f1", "exact") for one in results]
    theirs = [line for line in tables(both, "t", "a", recipes)[1].lines if line.theirs]
    assert [line.label.split(", ")[-2] for line in theirs] == ["exact match", "F1"]
    exact, f1 = ([entry and entry.text for entry in line.entries] for line in theirs)
    assert sorted(filter(None, exact)) == sorted(["66.7", "49.7", "49.6", "51.9"])
    assert not set(filter(None, f1)) & set(filter(None, exact))


def test_settings_of_one_task_have_tables_of_their_own(results):
    both = [*results, *(replace(one, setting="translate-train") for one in results)]
    main, *others = tables(both, "t", "a")
    assert [table.name for table in others] == ["pos.zero-shot", "pos.translate-train"]
    assert main.columns[-1].group == "pos, translate-train (accuracy, %)"


def test_markdown_is_a_pipe_table(found):
    lines = markdown(found[1]).split("\n")
    assert lines[0] == "## A & B: pos"
    assert lines[3].count("|") == lines[2].count("|") == 7
    assert lines[5].startswith("| B | 4 | ")
    assert "**" not in lines[4]
    assert f"**{cell(found[1], 'B', 'de').text} ± 0.5†**" in lines[5]


def test_no_name_is_taken_for_markup(found):
    """`<b>` would make a Markdown page bold to its end; pdflatex stops at the minus sign between two systems."""
    table = replace(found[0], lines=(replace(found[0].lines[0], label="<b> | A − B < C"),))
    assert "| \\<b> \\| A − B < C |" in markdown(table)
    assert "\n$<$b$>$ | A $-$ B $<$ C & " in latex(table)


def test_latex_is_escaped_and_grouped(found):
    text = latex(found[0])
    assert r"\multicolumn{2}{c}{pos (accuracy, \%)}" in text
    assert r"\cmidrule(lr){3-4}" in text
    assert r"A \& B" in text
    body = text[text.index("\\midrule") : text.index("\\bottomrule")]
    assert {line.count("&") for line in body.split("\n") if line.endswith(r"\\")} == {3}
    assert text.count("{") - text.count(r"\{") == text.count("}") - text.count(r"\}")


def test_html_is_well_formed_and_escaped(found):
    page = html_page(found[1])
    assert "A &amp; B" in page

    class Rows(HTMLParser):
        widths: list[int] = []
        open_: list[str] = []

        def handle_starttag(self, tag, attrs):
            if tag == "tr":
                self.widths.append(0)
            if tag in {"td", "th"}:
                self.widths[-1] += int(dict(attrs).get("colspan", 1))
            if tag not in {"meta", "br"}:
                self.open_.append(tag)

        def handle_endtag(self, tag):
            assert self.open_.pop() == tag

    reader = Rows()
    reader.feed(page)
    assert reader.open_ == []
    assert set(reader.widths) == {6}


def test_the_terminal_shows_the_same(found):
    console = Console(file=StringIO(), width=120)
    console.print(terminal(found[0]))
    shown = cell(found[0], "B", "others")
    assert f"{shown.text} ± {shown.spread}†" in console.file.getvalue()


def test_files_are_written_in_three_forms(found, tmp_path):
    written = write_tables(tmp_path / "tables", found)
    assert [path.name for path in written] == [
        f"{name}.{kind}" for name in ("main", "pos") for kind in ("md", "tex", "html")
    ]
    assert all(path.read_text() for path in written)


def test_adjacent_columns_are_grouped():
    columns = (Column("n"), Column("a", "x"), Column("b", "x"), Column("c"))
    assert Table("t", "t", columns, ()).groups == [("", 1), ("x", 2), ("", 1)]
    assert Table("t", "t", (Column("n"),), ()).groups == []


def test_entries_of_collapsed_fine_tunings_have_a_sign_in_all_formats(results):
    """One of A's four runs collapsed; its means in all languages rest on it, and B's on none."""
    tuned = [replace(one, tuning={"collapsed": one.system == "a" and one.pretraining_seed == 1}) for one in results]
    main, pos = tables(tuned, "t", "a")
    for table in (main, pos):
        assert "‡: includes a collapsed fine-tuning (1 of 8 here)" in table.caption
    assert [cell(pos, label, "others").collapsed for label in "AB"] == [True, False]
    console = Console(file=StringIO(), width=120)
    console.print(terminal(pos))
    shown = cell(pos, "A", "de")
    for text in (console.file.getvalue(), markdown(pos), html_page(pos)):
        assert f"{shown.text} ± {shown.spread}‡" in text
    assert f"{shown.text} $\\pm$ {shown.spread}$^\\ddagger$ &" in latex(pos)
    assert "‡" not in latex(pos)
    assert "collapsed" not in tables(results, "t", "a")[1].caption


def test_a_difference_of_settings_rests_on_the_fine_tunings_of_both(results):
    lost = [replace(one, setting="supervised", tuning={"collapsed": one.system == "b"}) for one in results]
    found = {table.name: table for table in tables(ScoreTable([*results, *lost]), "t", "a")}
    assert [cell(found["pos.difference"], label, "de").collapsed for label in "AB"] == [False, True]
    assert not cell(found["pos.zero-shot"], "B", "de").collapsed


def test_a_head_says_where_lower_is_better(results):
    _, pos = tables(ScoreTable([replace(one, greater_is_better=False) for one in results]), "t", "a")
    assert pos.columns[1].group == "pos ↓ (accuracy, %)"
    assert "↓: lower is better." in pos.caption
    assert r"pos $\downarrow$ (accuracy, \%)" in latex(pos)
    assert "↓" not in latex(pos)
    assert "lower is better" not in tables(results, "t", "a")[1].caption


def test_negative_numbers_have_a_minus_in_latex(found):
    entries = [Entry("-5.4", "1.2"), Entry("-3.0 to -0.5"), Entry("1e-05"), Entry("see 2016–2018"), Entry("p-1")]
    line = replace(found[0].lines[0], label="A", entries=tuple(entries))
    shown = r"A & $-5.4$ $\pm$ 1.2 & $-3.0$ to $-0.5$ & 1e-05 & see 2016--2018 & p-1 \\"
    assert shown in latex(replace(found[0], lines=(line,)))
