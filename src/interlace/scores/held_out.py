"""Which words of a dictionary scores are over, where some systems were trained on entries of that dictionary.

The main metric of such a probe leaves out the words that training read an entry of ("held-out words"). The metric with
the suffix ", all" is over all words, the same for every system, so systems are compared by that.
"""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace

from interlace.scores import Score, ScoreTable

Metrics = Mapping[str, Sequence[str]]

ALL_WORDS = ", all"  # suffix of a metric
HELD_OUT_SHARE = "held out"  # metric: percent of the words that training read no entry of
NOTE = (
    "{metric} is over all words, also those that training read a dictionary entry of, because the systems held out "
    "different words."
)


def _evaluation(row: Score) -> tuple[Hashable, ...]:
    """Identify the scores of one evaluation of a run."""
    return row.run, row.task, row.setting, row.language, row.seed


def add_all_words(table: ScoreTable) -> ScoreTable:
    """Add the metrics over all words to runs without a dictionary, whose main metric is over all words already."""
    metrics = {(row.task, row.metric) for row in table}
    scored = {(_evaluation(row), row.metric) for row in table}
    rows = []
    for row in table:
        rows.append(row)
        over_all = row.metric + ALL_WORDS
        is_scored = (_evaluation(row), over_all) in scored
        if (row.task, over_all) in metrics and not is_scored:
            rows.append(replace(row, metric=over_all, main=False))
    return ScoreTable(rows)


def over_all_words(table: ScoreTable) -> ScoreTable:
    """Return the metrics over all words, marked as main, of tasks where a run has both."""
    metrics = {(row.task, row.metric + ALL_WORDS) for row in table if row.main}
    rows = [row for row in add_all_words(table) if (row.task, row.metric) in metrics]
    return ScoreTable(replace(row, main=True) for row in rows)


def different_words(table: ScoreTable) -> list[str]:
    """Return the tasks whose main metrics are over different words, by the shares that systems held out."""
    shares = {_evaluation(row): row.score for row in table if row.metric == HELD_OUT_SHARE}
    tasks = []
    groups = table.filter(main=True).group("task", "setting", "language")
    for (task, _, _), rows in groups.items():
        shares_by_label: dict[str, set[float]] = {}
        for row in rows:
            # a share of 0 means that the score is over all words, as without a dictionary
            share = shares.get(_evaluation(row)) or 100.0
            shares_by_label.setdefault(row.label, set()).add(share)
        shares_of_systems = list(shares_by_label.values())
        are_equal = all(held_out == shares_of_systems[0] for held_out in shares_of_systems)
        if not are_equal and task not in tasks:
            tasks.append(task)
    return tasks


def comparable_metrics(table: ScoreTable, metrics: Metrics) -> dict[str, Sequence[str]]:
    """Return the metrics to compare by task: over all words where those in `metrics` are over different words.

    table: as `add_all_words` returns it. metrics: by task; default: the main one.
    """
    comparable = dict(metrics)
    for task in different_words(table):
        rows = table.filter(task=task)
        scored = rows.unique("metric")
        names: dict[str, None] = {}
        for name in metrics.get(task) or rows.filter(main=True).unique("metric"):
            over_all = name + ALL_WORDS
            names[over_all if over_all in scored else name] = None
        comparable[task] = list(names)
    return comparable
