"""The table of scores in the terminal."""

from interlace.report.overview import overview
from interlace.scores import ScoreTable, table_of_entries


def row(language, score, setting="zero-shot", seed=0):
    about = {"task": "pos", "metric": "accuracy", "unit": "%", "source": "en"}
    return {**about, "language": language, "setting": setting, "seed": seed, "score": score}


def table_of(rows, **others):
    """The overview of one system's entries, and those of others by name."""
    found = {"one": rows, **others}
    return overview(
        ScoreTable(score for name, some in found.items() for score in entries(name, some))
    )


def entries(name, rows):
    return table_of_entries(rows, run=name, system=name, label=name)


def cells(table):
    """The body of a table, cell by cell."""
    return [
        [line.label, *("–" if entry is None else str(entry) for entry in line.entries)]
        for line in table.lines
    ]


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
