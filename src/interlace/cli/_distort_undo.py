"""Files of a derived language changed back, by the record that stands beside those that were made."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from interlace.core.errors import DataError, SettingsError
from interlace.derived import Chain, chain
from interlace.experiments._deriving_formats import write_as
from interlace.text import Text, TextPairs
from interlace.text.lines import must_exist

if TYPE_CHECKING:
    from pathlib import Path

    from interlace.cli._distort_files import Distorter

_KEYS = {"language": str, "of": str, "changes": list, "seed": int, "word_tokenizer": str, "blanks": bool}


@dataclass(frozen=True)
class Record:
    """What was done to the files of a folder.

    language: what they are in. of: what that is made of. word_tokenizer: what found words in the original's lines. blanks:
    whether all words of the derived lines stand apart.
    """

    language: str
    of: str
    changes: Chain
    seed: int
    word_tokenizer: str
    blanks: bool

    @classmethod
    def read(cls, path: Path) -> Record:
        """From the `meta.json` that was written with the files.

        Raises:
            DataError: it is not there, or is no such record. SettingsError: what was done cannot be undone.
        """
        try:
            about = json.loads(must_exist(path, "record of a derived language").read_bytes())
            found = {key: about[key] for key in _KEYS}
        except (ValueError, KeyError, TypeError):
            raise DataError(f"{path}: is no record of a derived language, as `interlace distort` writes it") from None
        if wrong := [key for key, kind in _KEYS.items() if not isinstance(found[key], kind)]:
            raise DataError(f"{path}: {wrong[0]!r} is not what `interlace distort` writes there")
        changes = chain(found["changes"], str(path))
        if not changes.undoes:
            raise SettingsError(f"{path}: {changes.name} as it is set cannot be undone from the derived text alone")
        return cls(**{**found, "changes": changes})

    @property
    def finds_words(self) -> str:
        """The word tokenizer that finds the words of derived lines."""
        return "blanks" if self.blanks else self.word_tokenizer


def restore(distorter: Distorter, path: Path, into: Path) -> dict[str, Any]:
    """One file changed back, in its format; returns what was done.

    Raises:
        DataError: the file cannot be read. SettingsError: it holds questions, whose answers are not found again.
    """
    name, reader = distorter.reading(path)
    about: dict[str, Any] = {"file": path.name, "reader": name, "lines": 0, "words": 0, "notes": {}}

    def back(text: Text) -> Text:
        about["words"] += len(text.words.flat)
        return distorter.change.undo(text, distorter.seed)

    def restored(chunk: Text | TextPairs) -> Text | TextPairs:
        about["lines"] += len(chunk)
        if isinstance(chunk, Text):
            return back(chunk)
        if chunk.answers is not None:
            raise SettingsError(f"{path}: answers of questions are not found again; undo other files, without it")
        return replace(chunk, source=back(chunk.source), target=back(chunk.target), links=None)

    write_as(reader, into / path.name, map(restored, reader.read_chunks([path], [distorter.language])))
    if not about["lines"]:
        raise DataError(f"{path}: there is nothing in it to change back")
    return about
