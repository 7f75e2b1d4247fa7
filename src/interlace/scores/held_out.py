"""Which words of a dictionary scores are over, where some systems were trained on entries of that dictionary.

The main metric of such a probe leaves out the words that training read an entry of ("held-out words"). The metric with
the suffix ", all" is over all words, the same for every system, so systems are compared by that.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from interlace.scores import Score, ScoreTable

Metrics = Mapping[str, Sequence[str]]

ALL_WORDS = ", all"  # suffix of a metric
HELD_OUT_SHARE = "held out"  # metric: percent of the words that training read no entry of
NOTE = (
    "{metric} is over all words, also those that training read a dictionary entry of, because the systems held out "
    "different words."
)


def add_all_words(table: ScoreTable) -> ScoreTable:
    """Add the metrics over all words to runs without a dictionary, whose main metric is over all words already."""
    known = {_place(row, row.metric) for row in table}
    split = {(row.task, row.metric.removesuffix(ALL_WORDS)) for row in table if row.metric.endswith(ALL_WORDS)}
    found: list[Score] = []
    for row in table:
        found.append(row)
        name = row.metric + ALL_WORDS
        if (row.task, row.metric) in split and _place(row, name) not in known:
            found.append(replace(row, metric=name, main=False))
    return ScoreTable(found)


def over_all_words(table: ScoreTable) -> ScoreTable:
    """Return the metrics over all words, marked as main, of tasks where a run has both."""
    wanted = {(row.task, row.metric + ALL_WORDS) for row in table if row.main}
    return ScoreTable(replace(row, main=True) for row in add_all_words(table) if (row.task, row.metric) in wanted)


def with_same_words(table: ScoreTable) -> ScoreTable:
    """Return the scores with main metrics that are over the same words for all systems.

    Where systems held out different words, that is the metric over all words; the one over held-out words stays beside
    it.
    """
    different = different_words(table)
    if not different:
        return ScoreTable(table)
    table = add_all_words(table)
    known = {(row.task, row.metric) for row in table}
    replaced = {(row.task, row.metric) for row in table if row.main and row.task in different}
    replaced = {(task, metric) for task, metric in replaced if (task, metric + ALL_WORDS) in known}
    found: list[Score] = []
    for row in table:
        is_replaced = (row.task, row.metric.removesuffix(ALL_WORDS)) in replaced
        found.append(replace(row, main=row.metric.endswith(ALL_WORDS)) if is_replaced else row)
    return ScoreTable(found)


def different_words(table: ScoreTable) -> dict[str, list[str]]:
    """Return the tasks whose main metrics are over different words, with the labels of systems that leave words out.

    Systems left out the same words if the shares of held-out words agree: seed by seed, or, with different seeds, in
    at least one run.
    """
    shares = {_place(row, ""): row.score for row in table if row.metric == HELD_OUT_SHARE}
    runs: dict[tuple[str, ...], list[tuple[str, Any, float]]] = {}
    for row in table:
        if row.main:  # a share of 0 means that the score is over all words, as without a dictionary
            one = row.label, row.pretraining_seed, shares.get(_place(row, "")) or 100.0
            runs.setdefault((row.task, row.setting, row.language), []).append(one)
    found: dict[str, list[str]] = {}
    for (task, *_), measured in runs.items():
        by_label, by_seed = defaultdict(set), defaultdict(set)
        for label, seed, share in measured:
            by_label[label].add(share)
            by_seed[seed].add(share)
        if any(len(some) > 1 for some in by_seed.values()) or not set.intersection(*by_label.values()):
            labels = [label for label, _, share in measured if share != 100.0]
            found[task] = list(dict.fromkeys([*found.get(task, []), *labels]))
    return found


def comparable_metrics(table: ScoreTable, metrics: Metrics) -> dict[str, Sequence[str]]:
    """Return the metrics to compare by task: over all words where those in `metrics` are over different words.

    table: as `add_all_words` returns it. metrics: by task; default: the main one.
    """
    known = {(row.task, row.metric) for row in table}
    found: dict[str, Sequence[str]] = dict(metrics)
    for task in different_words(table):
        names = list(metrics.get(task) or table.filter(task=task, main=True).unique("metric"))
        same = [name + ALL_WORDS if (task, name + ALL_WORDS) in known else name for name in names]
        found[task] = list(dict.fromkeys(same))
    return found


def _place(row: Score, metric: str) -> tuple[Any, ...]:
    return row.run, row.task, row.setting, row.language, row.seed, metric
