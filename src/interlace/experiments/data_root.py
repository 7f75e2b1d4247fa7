"""The data of a recipe: the user's folder or the toy corpus, and the folders of derived languages."""

import os
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from interlace.core.data_root import DataRoot, Root
from interlace.core.errors import DataError
from interlace.core.files import nearest_folder, user_path
from interlace.core.json_files import JsonObject
from interlace.data.artifacts import Artifact
from interlace.data.cache import code_hash, plugin_hash
from interlace.experiments.recipe import Recipe
from interlace.toy.languages import LANGUAGES
from interlace.toy.settings import ToyCorpus

# of the text of toy corpus and derived languages, in keys of scores; raised when it changes
GENERATED_VERSION = 1


@dataclass(frozen=True, eq=False)
class ToyFiles(Artifact[Path]):
    """The files of a toy corpus."""

    kind = "toy"

    toy: ToyCorpus

    def __str__(self) -> str:
        return f"the toy corpus in {', '.join(self.toy.languages)}"

    @cached_property
    def key(self) -> JsonObject:
        """The settings and the code."""
        return {
            **self.toy.dump(),
            "version": code_hash("toy"),
            "plugins": _plugins(self.toy),
        }

    def build(self, folder: Path) -> None:
        """Write the files."""
        from interlace.toy.corpus import write_toy

        write_toy(self.toy, folder)

    def open(self, folder: Path) -> Path:
        """Return the folder."""
        return folder


def _plugins(toy: ToyCorpus) -> list[str]:
    """Return a hash of the file of each language that is a plugin's, and an empty string for each other one."""
    hashes = []
    for code in toy.languages:
        is_own = code in LANGUAGES.own_names()
        hashes.append("" if is_own else plugin_hash(LANGUAGES.get(code)))
    return hashes


def data_root(recipe: Recipe) -> Root:
    """Return where the recipe's paths are looked up; write toy corpus and derived languages if needed.

    Raises:
        DataError: the folder, or an original file of a derived language, is missing.
    """
    root = original_root(recipe)
    if not recipe.derived:
        return root
    from interlace.experiments.deriving import derived_languages

    return DataRoot(root, tuple(language.get() for language in derived_languages(recipe, root)))


def original_root(recipe: Recipe) -> Path:
    """Return the data root without derived languages; write the toy corpus if needed."""
    if recipe.toy is not None:
        return ToyFiles(recipe.toy).get()
    if recipe.data_root is None:
        raise DataError(
            f"recipe {recipe.name!r} needs data_root, the folder of its files: set it in the recipe, by --set "
            "data_root=FOLDER or evaluate's --data FOLDER, or a [toy] section"
        )
    path = os.path.expandvars(recipe.data_root)
    folder = user_path(path)
    if not path or not folder.is_dir():
        raise DataError(
            f"data_root {recipe.data_root!r}: {path!r} is not a folder; set it, or the environment variable that it "
            f"names{nearest_folder(folder)}"
        )
    return folder


def data_key(recipe: Recipe) -> list[Any]:
    """Return the identity of a recipe's data in keys of scores, except the contents of its files."""
    key: list[Any]
    if recipe.toy is None:
        key = [str(original_root(recipe)), [], GENERATED_VERSION]
    else:
        key = [recipe.toy.dump(), _plugins(recipe.toy), GENERATED_VERSION]
    if not recipe.derived:
        return key
    from interlace.experiments.deriving import derived_languages, described_chain

    described: JsonObject = {}
    for language in derived_languages(recipe, original_root(recipe)):
        described[language.name] = {
            **language.settings.dump(),
            "transformations": described_chain(language.chain),
        }
    return [*key, described]
