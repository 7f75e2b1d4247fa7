"""Tasks over bilingual dictionaries, and which of their entries a model was trained on.

ALIGN-MLM (Tang et al. 2022, section 5) scores dictionary pairs that it pulled together along with others. Here a source
word is *seen* if an entry of it was trained on, and *held out* if neither it, nor one of its translations, nor any of
their embedding rows occurs in such an entry. The main metric is over held-out words.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from interlace.alignment.lexicon import read_translations
from interlace.core.data_root import Root
from interlace.core.errors import DataError
from interlace.core.ragged import Ragged
from interlace.data.vocab import Vocab
from interlace.scores.examples import Examples, identity_of
from interlace.tasks import ProbeTask
from interlace.tasks.common.files import FileQuery, Files, find_parts
from interlace.text.lines import read_lines

log = logging.getLogger(__name__)

# Folder of a run: entries that its objectives, and those of its start, drew. Columns: two languages, part, status.
DICTIONARIES = "dictionaries"


class DictionaryTask(ProbeTask):
    """Base of tasks over a dictionary; the words that the scored run was trained on are scored separately."""

    source: str = Field("en", description="The language of the source words; translations are in the scored language.")
    files: Files = Field(
        "dict/{source}-{target}.txt",
        description="Dictionaries under the data root: source, tab or blank, target (MUSE, xling-eval); a word may "
        "have several lines.",
    )
    candidates: Literal["dictionary", "text", "vocabulary"] = Field("dictionary", description="Candidates.")
    text: Files = Field("text/train.{language}.txt", description="Text of the candidates.")
    training_dictionaries: Files | None = Field(
        None,
        description="Dictionaries that compared systems may have been trained on, such as MUSE's "
        "'dict/{source}-{target}.0-5000.txt': their words do not count in the main metric, nor do those stored with "
        "the scored run. '..txt[:500]' are the first 500 entries.",
    )
    text_in: ClassVar[Literal["target", "both"]] = "both"  # languages whose `text` is read

    def read_files(self, split: str, language: str, root: Root) -> list[Path]:
        """Return the dictionary, the training dictionaries, and the text of candidates."""
        query = self.query(split, language, root)
        parts = find_parts(self.training_dictionaries, query) if self.training_dictionaries is not None else []
        if self.candidates == "text":
            for side in [language, self.source] if self.text_in == "both" else [language]:
                parts += find_parts(self.text, query, side)
        return [*super().read_files(split, language, root), *(part.path for part in parts)]

    def training_entries(self, query: FileQuery) -> TrainingEntries:
        """Return the words that the run, its start or a compared system was trained on; raise a DataError if damaged.

        A word of a dictionary between any two languages counts for its own language.
        """
        words: dict[str, set[str]] = {query.source: set(), query.language: set()}
        for part in find_parts(self.training_dictionaries, query) if self.training_dictionaries is not None else []:
            pairs = list(zip(*read_entries(part.path), strict=True))
            for source, target in pairs[part.rows] if part.rows else pairs:
                words[query.source].add(source)
                words[query.language].add(target)
        if self._run is not None:
            for path in sorted((self._run / DICTIONARIES).glob("*.tsv")):
                for language, word in _trained_words(path):
                    words.setdefault(language, set()).add(word)
        return TrainingEntries.of(words, query.source, query.language)


def _trained_words(path: Path) -> Iterator[tuple[str, str]]:
    """Yield (language, word) of both words of each entry that a run was trained on."""
    lines = read_lines(path)
    languages = next(lines, "").split("\t")[:2]
    for line in lines:
        cells = line.split("\t")
        if cells[2:] == ["train", "used"]:
            yield from zip(languages, cells[:2], strict=True)


def read_entries(path: Path) -> tuple[list[str], list[str]]:
    """Return words and their translations; raise a DataError, with the line, if the file is no dictionary."""
    pairs = list(dict.fromkeys((source, target) for source, target, _ in read_translations(path)))
    if not pairs:
        raise DataError(f"{path}: no entry in the dictionary")
    return [source for source, _ in pairs], [target for _, target in pairs]


@dataclass(frozen=True)
class TrainingEntries:
    """Words that were trained on.

    source, target: of the languages of the scored dictionary, case-folded. words: of all languages, as written.
    """

    source: frozenset[str] = frozenset()
    target: frozenset[str] = frozenset()
    words: tuple[str, ...] = ()

    @classmethod
    def of(cls, words: Mapping[str, Iterable[str]], source: str, target: str) -> TrainingEntries:
        """Collect the words that were trained on, by language, for a dictionary between two of these."""
        folded = {language: frozenset(word.casefold() for word in words[language]) for language in (source, target)}
        every_word = sorted({word for of_language in words.values() for word in of_language})
        return cls(folded[source], folded[target], tuple(every_word))

    def shares_rows(self, vocab: Vocab, *sides: Ragged) -> NDArray[np.bool_]:
        """(m,) whether an embedding row of an entry was trained on; sides: m rows of token ids, by language.

        Trained words are spelled as written, and as a dictionary's `case = "best"` spells them.
        """
        from interlace.objectives.common.dictionaries import shares_rows, spellings

        ids = np.concatenate([spellings(vocab, self.words, best=best).flat for best in (False, True)])
        return np.asarray(np.any([shares_rows(side, ids) for side in sides], axis=0), np.bool_)

    def identity(self, source: Sequence[str], target: Sequence[str], shared: NDArray[np.bool_]) -> str:
        """Return a hash of the words of entries and of which of them count, as `groups` does."""
        sides = (self.source, source), (self.target, target)
        overlap = [sorted(trained & {word.casefold() for word in words}) for trained, words in sides]
        return identity_of(source, target, *overlap, np.flatnonzero(shared))

    def groups(
        self, numbers: NDArray[np.int64], shared: NDArray[np.bool_], source: Sequence[str], target: Sequence[str]
    ) -> WordGroups:
        """Return which words are seen and which are held out.

        numbers: (m,) the number of the source word of each entry. shared: (m,) whether an embedding row of the entry
        was trained on. source, target: the words of each entry.
        """
        seen = np.bincount(numbers, [word.casefold() in self.source for word in source]) > 0
        translated = np.array([word.casefold() in self.target for word in target], np.bool_)
        return WordGroups(seen, ~(seen | (np.bincount(numbers, translated | shared) > 0)))


@dataclass(frozen=True)
class WordGroups:
    """seen, held_out: (n,) whether each source word is of that group."""

    seen: NDArray[np.bool_]
    held_out: NDArray[np.bool_]

    @property
    def counted(self) -> NDArray[np.bool_]:
        """(n,) the words of the main metric: those held out, or all if none is."""
        return self.held_out if self.held_out.any() else np.ones(len(self.held_out), np.bool_)

    def metrics(self, task: str, measure: Callable[[NDArray[np.bool_]], dict[str, float]]) -> dict[str, float]:
        """Return the metrics over held-out words, and `.., all` and `.., seen` if any word was seen.

        task: named in a warning. measure: returns the metrics over some of the words.
        """
        every = np.ones(len(self.seen), np.bool_)
        if self.held_out.all():
            return measure(every)
        others = int((~self.held_out & ~self.seen).sum())
        log.info(
            "%s: %d of %d words are held out; %d were trained on, %d share a translation or embedding row with those",
            *(task, self.held_out.sum(), len(every), self.seen.sum(), others),
        )
        if not self.held_out.any():
            log.warning("%s: all %d words, or their translations, were trained on; they are scored", task, len(every))
        groups = {"all": every, **({"seen": self.seen} if self.seen.any() else {})}
        more = {f"{key}, {name}": value for name, group in groups.items() for key, value in measure(group).items()}
        return {**measure(self.counted), **more, "held out": 100 * float(self.held_out.mean())}

    def outcomes(
        self, numbers: NDArray[np.int64], entries: NDArray[np.int64], hits: NDArray[np.bool_], identity: str
    ) -> Examples:
        """Return the outcome of every source word of the dictionary; words that do not count have weight 0.

        numbers: (M,) the number of the source word of each entry of the dictionary. entries: (n,) an entry of each of
        these words. hits: (n,) whether it was found.
        """
        score, weight = np.zeros(int(numbers.max()) + 1), np.zeros(int(numbers.max()) + 1)
        counted = numbers[entries[self.counted]]
        score[counted], weight[counted] = hits[self.counted], 1
        return Examples(score, weight, identity)
