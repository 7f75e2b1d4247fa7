"""Tables of scores of a study: cells, bold and marks, captions, published results, and output formats."""

from dataclasses import replace
from html.parser import HTMLParser
from io import StringIO

import pytest
from rich.console import Console

from interlace.experiments.recipe import Recipe
from interlace.report.comparison_table import ComparisonTable
from interlace.report.differences import difference_tables
from interlace.report.published_rows import cited_by
from interlace.report.tables import (
    Column,
    Entry,
    Table,
    html_page,
    latex,
    markdown,
    terminal,
    write_tables,
)
from interlace.scores import ScoreTable
from interlace.scores.comparison import compare
from interlace.scores.held_out import NOTE
from study_rows import row, texts, two_systems


@pytest.fixture
def results():
    return two_systems()


def tables(scores, title, baseline, recipes=()):
    """The main table and those of tasks."""
    return ComparisonTable(
        ScoreTable(scores), baseline, cited=cited_by(recipes), title=title
    ).tables()


@pytest.fixture
def recipes():
    """One recipe, that names published results."""
    places = [
        "Yang et al. 2021, table 1, mBERT+WEAM",  # MLQA
        "Yang et al. 2020, table 3, ALM (translate-train)",
        "Yang et al. 2020, table 3, ALM (cross-lingual test)",
    ]
    data = {
        "name": "x",
        "corpora": {"t": {"languages": ["en"], "train": "x"}},
        "objectives": {"mlm": {}},
    }
    return [Recipe.read({**data, "published": [{"where": place} for place in places]})]


def test_a_column_is_over_the_same_words_for_all_systems():
    """ALIGN has 0.5 over its held-out words, and 2.0 over all words, as MLM's 1.0 is."""
    rows = []
    for seed in range(8):
        common = {"metric": "p@1", "task": "word_translation"}
        rows += [
            row("mlm", seed, "de", 1.0 + seed / 100, **common),
            row("align", seed, "de", 0.5, **common),
        ]
        extra = {**common, "main": False}
        rows.append(row("align", seed, "de", 2.0 + seed / 100, **{**extra, "metric": "p@1, all"}))
        rows.append(row("align", seed, "de", 60.0, **{**extra, "metric": "held out"}))
    for table in tables(ScoreTable(rows), "words", "mlm"):
        [column] = [column for column in table.columns if column.name == "de"]
        assert "p@1, all" in column.group
        entries = [cell(table, label, "de") for label in ("MLM", "ALIGN")]
        assert [(entry.text, entry.bold) for entry in entries] == [("1.0", False), ("2.0", True)]
        assert "p@1, all is over all words, also those that training read" in table.caption
        assert "held-out words" not in table.caption.replace(NOTE.format(metric="p@1, all"), "")


@pytest.fixture
def found(results):
    return tables(results, "A & B", "a")


def changed(results, **columns):
    return ScoreTable([replace(one, **columns) for one in results])


def cell(table, label, name):
    place = [column.name for column in table.columns].index(name)
    return next(line for line in table.lines if line.label == label).entries[place]


def printed(shown):
    console = Console(file=StringIO(), width=120)
    console.print(shown)
    return " ".join(console.file.getvalue().split())


def test_main_table_has_the_source_and_the_mean_of_the_others(found):
    main, pos = found
    group = "pos (accuracy, %)"
    assert [(column.group, column.name) for column in main.columns] == [
        ("", "runs"),
        (group, "en"),
        (group, "others"),
    ]
    assert [column.name for column in pos.columns] == ["runs", "en", "others", "de", "es"]
    assert cell(pos, "A", "runs").text == "4"
    assert (cell(pos, "A", "de").text, cell(pos, "A", "de").spread) == ("50.0", "0.5")
    assert "others: mean of de, es." in pos.caption
    marks = {place: (cell(pos, *place).bold, cell(pos, *place).significant) for place in
             (("A", "de"), ("B", "de"), ("A", "es"), ("B", "es"))}  # fmt: skip
    assert marks == {place: (place == ("B", "de"),) * 2 for place in marks}
    assert "p < 0.05 after Holm" in pos.caption
    assert "significantly different from A" in pos.caption


def test_mean_without_a_source_language(results):
    """Translation is scored in directions, none of which the model was tuned on."""
    directions = {"de": "en-de", "es": "de-en"}
    rows = [
        replace(row, language=directions[row.language])
        for row in results
        if row.language in directions
    ]
    main, _ = tables(rows, "t", "a")
    assert [column.name for column in main.columns] == ["runs", "mean"]
    assert "mean: mean of en-de, de-en." in main.caption
    assert "others" not in main.caption
    (differences,) = difference_tables(compare(rows, "a"), "t")
    assert {line.entries[1].text for line in differences.lines} == {"mean", "en-de", "de-en"}
    assert "mean: over all languages or directions" in differences.caption
    assert "others:" not in differences.caption


@pytest.mark.parametrize(
    ("greater", "bold"), [(True, [False, True]), (False, [True, False]), (None, [False, False])]
)
def test_direction_of_a_metric_decides_what_is_bold(results, greater, bold):
    _, pos = tables(changed(results, greater_is_better=greater), "t", "a")
    assert [cell(pos, label, "de").bold for label in "AB"] == bold
    assert cell(pos, "B", "de").significant
    assert (pos.columns[1].group == "pos ↓ (accuracy, %)") is (greater is False)
    assert ("↓: lower is better." in pos.caption) is (greater is False)
    assert (r"pos $\downarrow$ (accuracy, \%)" in latex(pos)) is (greater is False)
    assert "↓" not in latex(pos)


def test_caption_names_checkpoints(results):
    """Eight fine-tunings of a checkpoint against four pre-training runs are one run against four."""
    fixed = [row("m", None, "de", 90.0 + seed, seed=seed) for seed in range(8)]
    _, pos = tables(ScoreTable([*results, *fixed]), "t", "a")
    assert "Not pre-trained here: M;" in pos.caption
    assert (
        "cannot be significant (smallest possible p): B 0.057, M 0.2." in pos.caption
    )  # 2 / 70 and 1 / 5, times two
    assert not cell(pos, "M", "de").significant
    assert "Not pre-trained here" not in tables(results, "t", "a")[1].caption
    (differences,) = difference_tables(compare(ScoreTable([*results, *fixed]), "a"), "t")
    assert "Not pre-trained here: M;" in differences.caption


def test_missing_scores_equal_systems_and_settings_of_a_task(results):
    _, pos = tables(
        ScoreTable([one for one in results if (one.system, one.language) != ("b", "es")]), "t", "a"
    )
    assert cell(pos, "B", "es") is None
    assert "| – |" in markdown(pos)
    twin = [replace(one, system="c", label="C") for one in results if one.system == "b"]
    _, pos = tables(ScoreTable([*results, *twin]), "t", "a")
    assert not any(cell(pos, label, "de").bold for label in "ABC")
    both = [*results, *(replace(one, setting="translate-train") for one in results)]
    main, *others = tables(both, "t", "a")
    assert [table.name for table in others] == ["pos.zero-shot", "pos.translate-train"]
    assert main.columns[-1].group == "pos, translate-train (accuracy, %)"


def test_collapsed_fine_tunings_are_marked_in_all_formats(results):
    """One of A's four runs collapsed, so its means in all languages include it."""
    tuned = [
        replace(one, tuning={"collapsed": one.system == "a" and one.pretraining_seed == 1})
        for one in results
    ]
    main, pos = tables(tuned, "t", "a")
    for table in (main, pos):
        assert "‡: includes a collapsed fine-tuning (1 of 8 here)" in table.caption
    assert [cell(pos, label, "others").collapsed for label in "AB"] == [True, False]
    shown = cell(pos, "A", "de")
    for text in (printed(terminal(pos)), markdown(pos), html_page(pos)):
        assert f"{shown.text} ± {shown.spread}‡" in text
    assert f"{shown.text} $\\pm$ {shown.spread}$^\\ddagger$ &" in latex(pos)
    assert "‡" not in latex(pos)
    assert "collapsed" not in tables(results, "t", "a")[1].caption
    lost = [
        replace(one, setting="supervised", tuning={"collapsed": one.system == "b"})
        for one in results
    ]
    found = {table.name: table for table in tables(ScoreTable([*results, *lost]), "t", "a")}
    assert [cell(found["pos.difference"], label, "de").collapsed for label in "AB"] == [False, True]
    assert not cell(found["pos.zero-shot"], "B", "de").collapsed


def test_published_results_are_of_the_same_task_setting_and_metric(results, recipes):
    _, xnli = tables(changed(results, task="xnli"), "t", "a", recipes)
    [place] = [said.where for said in recipes[0].published if "cross-lingual" in said.where]
    [theirs] = [line for line in xnli.lines if line.theirs]
    assert theirs.label == f"{place} (xnli, zero-shot, accuracy, %)"
    assert texts(theirs.entries) == [None, "85.2", None, "78", "79.2", "75.6"]
    assert "not comparable with ours" in xnli.caption
    for change in ({}, {"metric": "f1"}, {"task": "mlqa"}, {"setting": "translate-test"}):
        found = tables(
            changed(results, **({"task": "xnli"} | change if change else {})), "t", "a", recipes
        )
        assert not any(line.theirs for table in found for line in table.lines)
        assert not any(column.is_text for table in found for column in table.columns)


def test_caption_names_contamination(results):
    assert "Contamination" not in tables(results, "t", "a")[1].caption
    rows = [
        replace(one, contamination={"ngram": 12.34 * (one.language == "de")}) for one in results
    ]
    assert "Contamination: up to 12.3 % of a language" in tables(rows, "t", "a")[1].caption


def test_captions_name_selection_and_printing_errors(results, recipes):
    _, xnli = tables(changed(results, task="xnli", tuning={"rule": "mean-dev"}), "t", "a", recipes)
    assert "of which language is not in the paper (ours: mean-dev)." in xnli.caption
    assert "The Chinese score" in xnli.caption
    for text in (markdown(xnli), latex(xnli), html_page(xnli)):
        assert "ours: mean-dev" in text
    _, mlqa = tables(changed(results, task="mlqa", metric="exact"), "t", "a", recipes)
    assert "Printing errors: AVG(zero-shot) is the mean of es, de, zh and AVG(all)" in mlqa.caption


def test_comparison_table_has_all_tables_as_markdown_and_html(results):
    comparison = ComparisonTable(results, "a", title="T")
    found = comparison.tables()
    assert comparison.markdown().split("## ")[1:] == [markdown(table).removeprefix("## ") + end for table, end in
                                                      zip(found, ("\n", ""), strict=True)]  # fmt: skip
    assert comparison.html().count("<table") == len(found)
    assert comparison.html() == comparison._repr_html_()


def test_markdown_is_a_pipe_table_with_names_escaped(found):
    lines = markdown(found[1]).split("\n")
    assert lines[0] == "## A & B: pos"
    assert lines[3].count("|") == lines[2].count("|") == 7
    assert lines[5].startswith("| B | 4 | ")
    assert "**" not in lines[4]
    assert f"**{cell(found[1], 'B', 'de').text} ± 0.5†**" in lines[5]
    table = replace(found[0], lines=(replace(found[0].lines[0], label="<b> | A − B < C"),))
    assert "| &lt;b> \\| A − B < C |" in markdown(table)
    assert "\n$<$b$>$ | A $-$ B $<$ C & " in latex(table)


def test_latex_is_escaped_and_grouped(found):
    text = latex(found[0])
    assert r"\multicolumn{2}{c}{pos (accuracy, \%)}" in text
    assert r"\cmidrule(lr){3-4}" in text
    assert r"A \& B" in text
    body = text[text.index("\\midrule") : text.index("\\bottomrule")]
    assert {line.count("&") for line in body.split("\n") if line.endswith(r"\\")} == {3}
    assert text.count("{") - text.count(r"\{") == text.count("}") - text.count(r"\}")
    entries = (
        Entry("-5.4", "1.2"),
        Entry("-3.0 to -0.5"),
        Entry("1e-05"),
        Entry("see 2016–2018"),
        Entry("p-1"),
    )
    line = replace(found[0].lines[0], label="A", entries=entries)
    shown = r"A & $-5.4$ $\pm$ 1.2 & $-3.0$ to $-0.5$ & 1e-05 & see 2016--2018 & p-1 \\"
    assert shown in latex(replace(found[0], lines=(line,)))


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


def test_files_are_written_in_three_formats_and_shown_in_the_terminal(found, tmp_path):
    written = write_tables(tmp_path / "tables", found)
    assert [path.name for path in written] == [
        f"{name}.{end}" for name in ("main", "pos") for end in ("md", "tex", "html")
    ]
    assert all(path.read_text() for path in written)
    shown = cell(found[0], "B", "others")
    assert f"{shown.text} ± {shown.spread}†" in printed(terminal(found[0]))
    columns = (Column("n"), Column("a", "x"), Column("b", "x"), Column("c"))
    assert Table("t", "t", columns, ()).groups == [("", 1), ("x", 2), ("", 1)]
    assert Table("t", "t", (Column("n"),), ()).groups == []
