"""Treebanks on disk: read once, learnt from once."""

from __future__ import annotations

from functools import lru_cache
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from interlace.core.errors import DataError
from interlace.derived._forest import Forest
from interlace.derived._precedence import Precedence, families
from interlace.readers.conllu import Conllu
from interlace.text.lines import must_exist

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from interlace.text import Text

Stamp = tuple[str, int, int]


def stamps(paths: Sequence[Path]) -> tuple[Stamp, ...]:
    """Names, sizes and times of files: while these are the same, so is what is in them.

    Raises:
        DataError: a file is missing.
    """
    found = [(path, must_exist(path, "treebank").stat()) for path in paths]
    return tuple((str(path), stat.st_size, stat.st_mtime_ns) for path, stat in found)


def read_trees(path: str) -> Iterator[Text]:
    """The sentences of a CoNLL-U file with their trees, in chunks."""
    yield from Conllu(trees=True).read_chunks([Path(path)], [""])


def forest_of(text: Text) -> Forest:
    """The trees of a text that has them.

    Raises:
        DataError: it has none.
    """
    if text.heads is None or "deprel" not in text.tags or "pos" not in text.tags:
        raise DataError("the text has no trees: heads, relations and parts of speech are needed")
    return Forest.of(text.heads, *(list(chain.from_iterable(text.tags[kind])) for kind in ("deprel", "pos")))


def learnt(paths: Sequence[Path], heads: Sequence[str], prior: float) -> dict[str, Precedence]:
    """For each part of speech, the order of its dependents in these treebanks.

    Raises:
        DataError: a file cannot be read or has no trees, or no head of some part of speech has a dependent.
    """
    return _learnt(stamps(paths), tuple(heads), prior)


@lru_cache(maxsize=8)
def _learnt(files: tuple[Stamp, ...], heads: tuple[str, ...], prior: float) -> dict[str, Precedence]:
    forests = [forest_of(chunk) for path, _, _ in files for chunk in read_trees(path)]
    models = {}
    for tag in heads:
        found = [family for forest in forests for family in families(forest, tag) if len(family) > 1]
        if not found:
            names = ", ".join(path for path, _, _ in files)
            tags = ", ".join(sorted({tag for forest in forests for tag in forest.tags}))
            raise DataError(f"{names}: no {tag} with a dependent to learn from; parts of speech there: {tags}")
        models[tag] = Precedence.learn(found, prior)
    return models
