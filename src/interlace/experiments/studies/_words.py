"""Over which words a score is: systems that have read a dictionary, another one, or none, are not asked the same ones.

A probe's main score leaves out the words that training has read an entry of. Beside it stands the score over all words
asked, which is over the same words for every system, so that is what systems are compared by.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

from interlace.experiments.studies.measures import variant_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from interlace.experiments.studies.measures import Measure, Variant
    from interlace.experiments.studies.results import Row

WHOLE = ", all"  # behind a metric: over all that was asked, where the main score leaves out what training has read
_SHARE = "held out"  # the score that tells the share of the words asked that training has read nothing of
_EVERY = 100.0


def filled(rows: Sequence[Row]) -> list[Row]:
    """The rows, and of a run that has read no dictionary the score over all words too, where another run tells it."""
    told = {_place(row, row["metric"]) for row in rows}
    parted = {(row["task"], row["metric"].removesuffix(WHOLE)) for row in rows if row["metric"].endswith(WHOLE)}
    found: list[Row] = []
    for row in rows:
        found.append(row)
        name = row["metric"] + WHOLE
        if (row["task"], row["metric"]) in parted and _place(row, name) not in told:
            found.append({**row, "metric": name, "main": False})
    return found


def over_all(rows: Sequence[Row]) -> list[Row]:
    """Main scores over all that was asked: where any run tells those apart from what it has not learnt from.

    So a run with a dictionary and one without are scored on the same words, as papers score them.
    """
    wanted = {(row["task"], row["metric"] + WHOLE) for row in rows if row["main"]}
    return [{**row, "main": True} for row in filled(rows) if (row["task"], row["metric"]) in wanted]


def unlike(rows: Sequence[Row]) -> dict[str, list[str]]:
    """The tasks of which systems' main scores are over different words, with the systems that leave words out.

    Systems have left out the same words where the share of these is the same: seed by seed, and where seeds are others,
    in some run at least.
    """
    shares = {_place(row, ""): row["score"] for row in rows if row["metric"] == _SHARE}
    asked: dict[tuple[str, ...], list[tuple[Variant, Any, float]]] = {}
    for row in rows:
        if row["main"]:  # of a run that has read all the words its score is over all, as where it has read none
            share = shares.get(_place(row, "")) or _EVERY
            one = variant_of(row), row["pretraining_seed"], share
            asked.setdefault((row["task"], row["setting"], row["language"]), []).append(one)
    found: dict[str, list[str]] = {}
    for (task, *_), runs in asked.items():
        if _differ(runs):
            labels = [variant.label for variant, _, share in runs if share != _EVERY]
            found[task] = list(dict.fromkeys([*found.get(task, []), *labels]))
    return found


def _differ(runs: Iterable[tuple[Variant, Any, float]]) -> bool:
    by_variant, by_seed = defaultdict(set), defaultdict(set)
    for variant, seed, share in runs:
        by_variant[variant].add(share)
        by_seed[seed].add(share)
    return any(len(some) > 1 for some in by_seed.values()) or not set.intersection(*by_variant.values())


def over_same(
    rows: Sequence[Row], metrics: Mapping[str, Sequence[str]] = {}, *, beside: bool = False
) -> dict[str, Sequence[str]]:
    """Which scores to compare: those over all words, where the ones asked for are over different words.

    Args:
        rows: as `filled` gives them.
        metrics: by task, which scores are asked for; none: the main one.
        beside: keep those asked for too.
    """
    told = {(row["task"], row["metric"]) for row in rows}
    found: dict[str, Sequence[str]] = dict(metrics)
    for task in unlike(rows):
        names = list(metrics.get(task) or [row["metric"] for row in rows if row["main"] and row["task"] == task])
        alike = [name + WHOLE if (task, name + WHOLE) in told else name for name in names]
        found[task] = list(dict.fromkeys([*names, *alike] if beside else alike))
    return found


def mixed(measures: Iterable[Measure], tasks: Collection[str]) -> dict[tuple[str, str], None]:
    """Tasks and scores of which systems were asked different words, of those that stand beside one over all words.

    tasks: those of `unlike`.
    """
    names = dict.fromkeys((measure.task, measure.metric) for measure in measures)
    return {(task, metric): None for task, metric in names if task in tasks and (task, metric + WHOLE) in names}


def words_asked(measures: Iterable[Measure], tasks: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """A sentence for captions on each score that `mixed` names; `tasks` as `unlike` tells them."""
    for task, metric in mixed(measures, tasks):
        yield (
            f"{metric} of {task} is over held-out words, of which training has read no entry of a dictionary, for "
            f"{', '.join(tasks[task])}; not all systems were asked the same words in it, so none is told apart by it. "
            f"{metric + WHOLE!r} is over all words for all."
        )


def _place(row: Row, metric: str) -> tuple[Any, ...]:
    return row["cell"], row["task"], row["setting"], row["language"], row["tuning_seed"], metric
