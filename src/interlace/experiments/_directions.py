"""Which translation directions a recipe trains: what its objectives read and write."""

from __future__ import annotations

from typing import TYPE_CHECKING

from interlace.data import Pairs

if TYPE_CHECKING:
    from collections.abc import Iterator

    from interlace.experiments import Recipe


def directions(recipe: Recipe) -> dict[tuple[str, str], str]:
    """(source, target) -> the objective that learns it first, in the order of the recipe.

    An objective of pairs learns what its `directions` say; one of single sentences that go `through` other languages
    learns from each of these into the sentence's own. Others teach languages and no translation.
    """
    return {direction: names[0] for direction, names in learners(recipe).items()}


def learners(recipe: Recipe) -> dict[tuple[str, str], list[str]]:
    """(source, target) -> all objectives that learn it; see `directions`."""
    found: dict[tuple[str, str], list[str]] = {}
    for name in recipe.objectives:
        if recipe.objective(name).architecture == "seq2seq":
            for direction in dict.fromkeys(_learnt(recipe, name)):
                found.setdefault(direction, []).append(name)
    return found


def longest_of(recipe: Recipe, source: str, target: str) -> int | None:
    """Most subwords of a sentence, without specials, in what a run of the recipe learnt to translate in a direction.

    A longer sentence is unlike all that it read in training; users' lines and test sets are cut there. None: no
    objective learns the direction, so nobody knows.
    """
    names = learners(recipe).get((source, target), [])
    return max((recipe.objective(name).max_length - 2 for name in names), default=None)


def longest_learnt(recipe: Recipe) -> dict[str, int]:
    """What `longest_of` says of every direction that is learnt, by its name, such as `en-de`."""
    found = {f"{source}-{target}": longest_of(recipe, source, target) for source, target in learners(recipe)}
    return {direction: longest for direction, longest in found.items() if longest is not None}


def _learnt(recipe: Recipe, name: str) -> Iterator[tuple[str, str]]:
    objective = recipe.objective(name)
    corpora = _corpora(recipe, recipe.objectives[name].corpora)
    pairs = [corpus for corpus in corpora if "-" in corpus]
    if objective.reads is Pairs:
        which = getattr(objective, "directions", None)
        for pair in pairs if which else ():
            first, _, second = pair.partition("-")
            if which != "backward":
                yield first, second
            if which != "forward":
                yield second, first
    elif hasattr(objective, "through"):
        alone = [corpus for corpus in corpora if "-" not in corpus]
        read = corpora if recipe.objectives[name].corpora or not alone else alone
        for language in dict.fromkeys(language for corpus in read for language in corpus.split("-")):
            yield from ((other, language) for other in objective.through or recipe.languages if other != language)


def _corpora(recipe: Recipe, wanted: list[str]) -> list[str]:
    """The languages and pairs of what an objective reads; none wanted: of all there is.

    A name is a group's, or a corpus's, before whose language or pair its group may stand, and behind whose pair one
    side of it.
    """
    groups = {name: group.trained for name, group in recipe.corpora.items()}
    if not wanted:
        return [corpus for members in groups.values() for corpus in members]
    return [corpus for name in wanted for corpus in groups.get(name, [name.rpartition(":")[2]])]
