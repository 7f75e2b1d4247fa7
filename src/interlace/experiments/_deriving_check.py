"""What would keep the derived languages of a recipe from being made, found without reading or changing any text."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from interlace.core.errors import InterlaceError
from interlace.experiments._deriving_files import must_have_sources, wanted_files

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from interlace.experiments.recipe import Recipe


def hindrances(recipe: Recipe) -> list[str]:
    """A message each. Of the toy corpus, which is written when it is wanted, only its languages are looked at."""
    if not recipe.derived:
        return []
    if recipe.toy is not None:
        return list(dict.fromkeys(_in_toy(recipe, recipe.toy.languages)))
    root = Path(os.path.expandvars(recipe.data_root or ".")).expanduser().resolve()
    if "$" in root.name and not root.is_dir():  # of each file in it there would be the same to say
        return [f"data_root = {recipe.data_root!r}: the environment variable is not set"]
    return list(dict.fromkeys(_under(recipe, root)))


def _in_toy(recipe: Recipe, languages: list[str]) -> Iterator[str]:
    for name, language in recipe.derived.items():
        yield from _told(partial(language.must_have_files, name))
        if language.of not in languages:
            yield f"derived.{name}.of: the toy corpus is written in {', '.join(languages)}, not in {language.of!r}"


def _under(recipe: Recipe, root: Path) -> Iterator[str]:
    for name, language in recipe.derived.items():
        yield from _told(partial(language.placed, root, name))
    try:
        wanted = wanted_files(recipe, root)
    except InterlaceError as error:
        yield str(error)
        return
    for one in wanted:
        yield from _told(partial(must_have_sources, one))
    asked = {one.language for one in wanted}
    for name in [name for name in recipe.derived if name not in asked]:
        yield f"derived.{name}: nothing of it is asked for, by no corpus, task or dictionary"


def _told(look: Callable[[], object]) -> Iterator[str]:
    try:
        look()
    except InterlaceError as error:
        yield str(error)
