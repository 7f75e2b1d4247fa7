"""Languages made of another one: a data root in which their files stand beside those that they are made of.

Each made file is cached by all that it hangs on: the original's content, how it is read, normalised and split into
words, which of its rows count, the changes with their seed, and the code of all that. The data root is a folder of
links to the real one and to these files, so whatever reads files (corpora, tasks, dictionaries, aligners, the search
for leaks) reads derived languages like any other.
"""

from __future__ import annotations

import inspect
import logging
import os
from functools import cache
from hashlib import blake2b
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from interlace.core.errors import DataError
from interlace.data.cache import cached, content_key
from interlace.experiments._derived import files_of
from interlace.experiments._deriving_files import Same, Sides, Words, must_have_sources, wanted_files
from interlace.experiments._text import words_key

if TYPE_CHECKING:
    from collections.abc import Mapping

    from interlace.core.settings import Settings
    from interlace.derived import Transformation
    from interlace.experiments._deriving_files import Source, Wanted
    from interlace.experiments._deriving_text import Maker
    from interlace.experiments.recipe import Recipe

log = logging.getLogger(__name__)

_FILES = "files"
_MADE_BY = (
    "derived",
    "readers",
    "text",
    "alignment",
    "data/filters",
    "experiments/_deriving_*",
    "experiments/deriving",
)


def with_derived(recipe: Recipe, root: Path) -> Path:
    """The data root in which the files of the recipe's derived languages stand too, made where they are not yet.

    Raises:
        DataError: a file that one is made of is missing, or stands where one is to be made.
        SettingsError: a pattern of the recipe cannot name a file for each language.
    """
    root = root.resolve()
    makers = _Makers(recipe, root)
    made: dict[str, Path] = {}
    for wanted in wanted_files(recipe, root):
        made |= {os.path.relpath(path, root): file for path, file in makers.made(wanted).items()}
    if outside := [name for name in made if name.startswith("..")]:
        raise DataError(f"{outside[0]}: files of derived languages stand under the data root {root}")
    folders = sorted({str(folder) for name in made for folder in Path(name).parents} | {"."})
    key = {
        "root": str(root),
        "made": {name: str(file) for name, file in made.items()},
        "beside": {folder: sorted(_names(root / folder)) for folder in folders},
    }
    return cached("derived-root", key, lambda into: _lay(root, folders, made, into / _FILES)) / _FILES


def derived_key(recipe: Recipe, root: Path) -> list[Any]:
    """What derived languages hang on beside the files that they are made of: sections, and the changes with their code.

    Raises:
        DataError: a file that a change reads is missing.
    """
    sections = {
        name: {
            **language.dump(),
            "transformations": [_described(change) for change in language.placed(root, name).changes],
        }
        for name, language in recipe.derived.items()
    }
    return [sections, _hashed("derived")]


def _names(folder: Path) -> list[str]:
    return [entry.name for entry in folder.iterdir()] if folder.is_dir() else []


def _lay(root: Path, folders: list[str], made: Mapping[str, Path], into: Path) -> None:
    """Links to what there is and to what was made; folders that hold something made are folders of their own."""
    for folder in folders:
        (into / folder).mkdir(parents=True, exist_ok=True)
    own = {str(Path(name)) for name in [*folders, *made]}
    for folder in folders:
        for name in _names(root / folder):
            if str(Path(folder) / name) not in own:
                (into / folder / name).symlink_to(root / folder / name)
    for name, file in made.items():
        (into / name).symlink_to(file)


class _Makers:
    """Makes wanted files in the cache. What changes text is only set up where a file is not there yet."""

    def __init__(self, recipe: Recipe, root: Path) -> None:
        self.recipe, self.root = recipe, root
        self._makers: dict[str, Maker] = {}

    def made(self, wanted: Wanted) -> dict[Path, Path]:
        """Where a wanted file (and those made with it) is to stand -> where it stands in the cache."""
        must_have_sources(wanted)
        names = wanted.made
        files = [f"{number}{''.join(path.suffixes[-2:])}" for number, path in enumerate(names)]
        folder = cached("derived", self._key(wanted, files), lambda into: self._make(wanted, [into / f for f in files]))
        return {path: folder / file for path, file in zip(names, files, strict=True)}

    def _make(self, wanted: Wanted, into: list[Path]) -> None:
        log.info("deriving %s", wanted.path.name)
        try:
            self._write(self._maker(wanted.language), wanted, into)
        except DataError as error:
            raise DataError(f"derived.{wanted.language}, {wanted.path.name}: {error}") from None

    @staticmethod
    def _write(maker: Maker, wanted: Wanted, into: list[Path]) -> None:
        if isinstance(wanted, Same):
            maker.write_same(wanted, into[0])
        elif isinstance(wanted, Words):
            maker.write_words(wanted, into[0])
        else:
            maker.write_sides(wanted, (into[0], into[1]), into[2] if wanted.links else None)

    def _maker(self, name: str) -> Maker:
        if name not in self._makers:
            from interlace.experiments._deriving_text import Maker

            self._makers[name] = Maker.of_recipe(self.recipe, name, self.root)
        return self._makers[name]

    def _key(self, wanted: Wanted, names: list[str]) -> dict[str, Any]:
        derived = self.recipe.derived[wanted.language]
        return {
            "files": names,
            "kind": type(wanted).__name__,
            "language": wanted.language,
            "of": derived.of,
            "changes": [_described(change) for change in derived.placed(self.root, wanted.language).changes],
            "seed": derived.seed,
            "sources": [_read(source) for source in wanted.sources],
            "word_tokenizer": words_key(self.recipe, [derived.of]),
            "normalise": self.recipe.normalise.dump(),
            "share": [wanted.share, wanted.turned] if isinstance(wanted, Sides) else None,
            "version": _hashed(*_MADE_BY),
        }


def _described(change: Transformation) -> list[Any]:
    """A change by name and settings, its files by their content."""
    read = {
        name: [content_key(path) for path in ([value] if isinstance(value, Path) else value)]
        for name, value in files_of(change)
    }
    return _member(change, **read)


def _read(source: Source) -> list[Any]:
    return [_member(source.reader), [_member(rule) for rule in source.filters], [*map(content_key, source.paths)]]


def _member(member: Settings, **known: Any) -> list[Any]:
    """A member of a room by name and settings, some of them `known` otherwise; a guest by its file's content too."""
    kind = type(member)
    code = "" if kind.__module__.startswith("interlace.") else content_key(Path(inspect.getfile(kind)))
    return [kind.__module__, {**member.dump(), **known}, code]


@cache
def _hashed(*places: str) -> str:
    """A hash of code in rooms or modules of the package: other code, other files."""
    digest = blake2b(digest_size=8)
    home = Path(str(files("interlace")))
    for place in places:
        for path in sorted([*(home / place).rglob("*.py"), *home.glob(f"{place}.py")]):
            digest.update(str(path.relative_to(home)).encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()
