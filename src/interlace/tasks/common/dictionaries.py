"""Tasks over bilingual dictionaries, and which of their entries a model was trained on.

ALIGN-MLM (Tang et al. 2022, section 5) scores dictionary pairs that it pulled together along with others. Here a source
word is *seen* if an entry of it was trained on, and *held out* if neither it, nor one of its translations, nor any of
their embedding rows occurs in such an entry. The main metric is over held-out words.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from pydantic import Field

from interlace.alignment.lexicon import read_translations
from interlace.core.errors import DataError
from interlace.core.ragged import BoolArray, IntArray, IntegerArray, Ragged
from interlace.scores.examples import Examples, identity_of
from interlace.tasks import ProbeTask
from interlace.tasks.common.files import FileQuery, Files
from interlace.text.lines import read_lines

if TYPE_CHECKING:
    from interlace.data.vocab import Vocab

log = logging.getLogger(__name__)

# Folder of a run: entries that its objectives, and those of its start, drew. Columns: two languages, part, status.
DICTIONARIES = "dictionaries"


class DictionaryTask(ProbeTask):
    """Base of tasks over a dictionary; the words that the scored run was trained on are scored separately."""

    source: str = Field(
        "en",
        description="The language of the source words; translations are in the scored language.",
    )
    files: Files = Field(
        "dict/{source}-{target}.txt",
        description="Dictionaries under the data root: source, tab or blank, target (MUSE, xling-eval); a word may "
        "have several lines.",
    )

    def training_entries(self, query: FileQuery) -> TrainingEntries:
        """Return the words that the run or its start was trained on; raise a DataError if its files are damaged.

        A word of a dictionary between any two languages counts for its own language.
        """
        words: dict[str, set[str]] = {query.source: set(), query.language: set()}
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


@dataclass(frozen=True)
class Translations:
    """Words of a dictionary and their translations, (m,) each."""

    source: list[str]
    target: list[str]

    def __len__(self) -> int:
        return len(self.source)

    def take(self, entries: IntegerArray) -> Translations:
        """Select entries."""
        return Translations(
            [self.source[entry] for entry in entries], [self.target[entry] for entry in entries]
        )


def read_entries(path: Path) -> Translations:
    """Return the distinct entries; raise a DataError, with the line, if the file is no dictionary."""
    pairs = {(source, target): None for source, target, _ in read_translations(path)}
    if not pairs:
        raise DataError(f"{path}: no entry in the dictionary")
    return Translations([source for source, _ in pairs], [target for _, target in pairs])


@dataclass(frozen=True)
class TrainingEntries:
    """Words that were trained on.

    source, target: of the languages of the scored dictionary, case-folded. words: of all languages, as written.
    """

    source: frozenset[str] = frozenset()
    target: frozenset[str] = frozenset()
    words: tuple[str, ...] = ()

    @classmethod
    def of(
        cls, words: Mapping[str, Iterable[str]], source: str, target: str
    ) -> TrainingEntries:
        """Collect the words that were trained on, by language, for a dictionary between two of these."""
        all_words = set().union(*words.values())
        return cls(_folded(words[source]), _folded(words[target]), tuple(sorted(all_words)))

    def shares_rows(self, vocab: Vocab, source: Ragged, target: Ragged) -> BoolArray:
        """(m,) whether an embedding row of an entry was trained on; source, target: m rows of token ids.

        Trained words are spelled as written, and as `spellings` of a dictionary.
        """
        from interlace.objectives.common.dictionaries import shares_rows, spellings

        as_written = vocab.encode_words(self.words).flat
        ids = np.concatenate([as_written, spellings(vocab, self.words).flat])
        return shares_rows(source, ids) | shares_rows(target, ids)

    def identity(self, entries: Translations, shared: BoolArray) -> str:
        """Return a hash of the words of entries and of which of them count, as `groups` does."""
        trained_source = sorted(self.source & _folded(entries.source))
        trained_target = sorted(self.target & _folded(entries.target))
        return identity_of(
            entries.source,
            entries.target,
            trained_source,
            trained_target,
            np.flatnonzero(shared),
        )

    def groups(
        self,
        entries: Translations,
        numbers: IntArray,
        shared: BoolArray,
    ) -> WordGroups:
        """Return which words are seen and which are held out.

        entries: m entries. numbers: (m,) the number of the source word of each. shared: (m,) whether an embedding row
        of the entry was trained on.

        For example, with `house` trained on and no shared rows, of the entries `house Haus`, `home Haus`, `cat Katze`
        the word `house` is seen, `home` is neither, and `cat` is held out.
        """
        trained_source = [word.casefold() in self.source for word in entries.source]
        trained_target = [word.casefold() in self.target for word in entries.target]
        is_trained = np.array(trained_source, np.bool_)
        is_related = np.array(trained_target, np.bool_) | shared
        seen = np.bincount(numbers, is_trained) > 0
        related = np.bincount(numbers, is_related) > 0
        return WordGroups(seen, ~(seen | related))


def _folded(words: Iterable[str]) -> frozenset[str]:
    return frozenset(word.casefold() for word in words)


@dataclass(frozen=True)
class WordGroups:
    """seen, held_out: (n,) whether each source word is of that group."""

    seen: BoolArray
    held_out: BoolArray

    @property
    def counted(self) -> BoolArray:
        """(n,) the words of the main metric: those held out, or all if none is."""
        return self.held_out if self.held_out.any() else np.ones(len(self.held_out), np.bool_)

    def metrics(
        self,
        task: str,
        measure: Callable[[BoolArray], dict[str, float]],
    ) -> dict[str, float]:
        """Return the metrics over held-out words, and `.., all` and `.., seen` if any word was seen.

        task: named in a warning. measure: returns the metrics over some of the words.
        """
        all_words = np.ones(len(self.seen), np.bool_)
        if self.held_out.all():
            return measure(all_words)
        held_out = int(self.held_out.sum())
        log.info(
            "%s: %d of %d words are held out from training", task, held_out, len(self.seen)
        )
        if not held_out:
            log.warning("%s: all words, or their translations, were trained on", task)
        metrics = measure(self.counted)
        metrics |= {f"{name}, all": value for name, value in measure(all_words).items()}
        if self.seen.any():
            metrics |= {f"{name}, seen": value for name, value in measure(self.seen).items()}
        metrics["held out"] = 100 * float(self.held_out.mean())
        return metrics

    def outcomes(
        self,
        numbers: IntArray,
        entries: IntArray,
        hits: BoolArray,
        identity: str,
    ) -> Examples:
        """Return the outcome of every source word of the dictionary; words that do not count have weight 0.

        numbers: (M,) the number of the source word of each entry of the dictionary. entries: (n,) an entry of each of
        these words. hits: (n,) whether it was found.
        """
        score = np.zeros(int(numbers.max()) + 1)
        weight = np.zeros_like(score)
        counted = numbers[entries[self.counted]]
        score[counted] = hits[self.counted]
        weight[counted] = 1
        return Examples(score, weight, identity)
