"""The files of training text that an estimate counts."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from interlace.core.errors import DataError
from interlace.text.lines import must_exist

if TYPE_CHECKING:
    from interlace.experiments import Recipe


@dataclass(frozen=True)
class Text:
    """Files of training text: how many, bytes of those that are there, and the paths of the others."""

    files: int
    bytes: int
    missing: list[str]

    @property
    def told(self) -> str:
        """How many are missing, and of the first the nearest that is there."""
        try:
            why = str(must_exist(self.missing[0]))  # it has come meanwhile
        except DataError as error:
            why = str(error)
        return f"{len(self.missing)} of {self.files} files are not there: {why}"


def training_files(recipe: Recipe) -> Text | None:
    """The files that a recipe trains on; None for the toy corpus, which is written when it is wanted."""
    if recipe.toy is not None:
        return None
    root = Path(os.path.expandvars(recipe.data_root or ".")).expanduser()
    made = recipe.derived  # of other files, which are counted
    named = [
        file
        for group in recipe.corpora.values()
        for corpus in (*group.languages, *group.pairs)
        if not made.keys() & set(corpus.split("-"))
        for file in group.files("train", corpus, root)
    ]
    files = list(dict.fromkeys(named))
    here = [file for file in files if file.is_file()]
    return Text(len(files), sum(file.stat().st_size for file in here), [str(f) for f in files if f not in set(here)])
