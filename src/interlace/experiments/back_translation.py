"""Offline back-translation: single-language text with the translations that a run makes of it, as a parallel corpus.

The real side is what another model learns to write, the made one what it learns to read (Sennrich et al. 2016; Edunov
et al. 2018 find sampled translations better than the likeliest where there is much text). A tag in front of each made
sentence lets that model tell the two kinds apart (Caswell et al. 2019).

Translating takes nearly all the time, so it is done first and goes on where it was stopped; judging pairs takes seconds
and is done anew whenever other rules are asked for.
"""

from __future__ import annotations

import logging
from collections import Counter
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np
from pydantic import Field, field_validator

from interlace.core.errors import DataError, SettingsError
from interlace.core.names import file_in
from interlace.core.settings import Settings
from interlace.data.filters import FilterChain, build_filters
from interlace.experiments.resumable import digest_of, resumable
from interlace.models.generation import SearchSettings, SingleBestSearch
from interlace.readers.common.text import plain_pairs
from interlace.text.lines import read_lines, writing
from interlace.text.word_tokenizers import WORD_TOKENIZERS
from interlace.training.run_folder import read_json, write_json

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from interlace.experiments.translation import LineRange, LineTranslator, Window

log = logging.getLogger(__name__)
MADE = "back-translated.json"
_TRANSLATED, _KEY = "translations.tsv", "translations.json"
_CHUNK = 10_000
_FULL = "1"  # marks translations that are as long as they may be, and hardly ever end where a sentence does


class BackTranslationSettings(Settings):
    """What is made of text, and which pairs are kept."""

    search: SingleBestSearch = Field(
        default_factory=SearchSettings, description="How translations are searched for, or drawn."
    )
    tag: str = Field(
        "",
        description="A word in front of each made sentence, such as '<BT>' (Caswell et al. 2019). Text "
        "like any other to what learns from it: a few subwords, where the paper reserves a token; lower-cased with it.",
    )
    filters: dict[str, dict[str, Any]] = Field(
        {"ratio": {"unit": "characters"}, "identical": {"min_words": 3}},
        description="Rules that pairs pass in turn, as in `interlace list filters`; the real side is the source.",
    )
    unfinished: bool = Field(False, description="Keep translations too that are as long as they may be.")
    word_tokenizer: str = Field("unicode", description="What a word is to the rules.")
    window: int = Field(2000, ge=1, description="Lines read before any is translated; more make evener batches.")

    @field_validator("tag")
    @classmethod
    def _is_word(cls, tag: str) -> str:
        if tag.split() != [tag] * bool(tag):
            raise SettingsError(f"tag {tag!r}: expected one word, without blanks")
        return tag

    @field_validator("word_tokenizer")
    @classmethod
    def _is_word_tokenizer(cls, word_tokenizer: str) -> str:
        WORD_TOKENIZERS.get(word_tokenizer)
        return word_tokenizer

    def model_post_init(self, _context: Any) -> None:
        """The rules must exist."""
        build_filters(self.filters)


def back_translate(
    interpreter: LineTranslator,
    text: LineRange,
    into: Path,
    settings: BackTranslationSettings,
    watch: Callable[[str, int, int], None] = lambda *_: None,
) -> dict[str, Any]:
    """Write `train.LANGUAGE` for both languages, line by line, into a folder; returns what was kept and dropped.

    The same call goes on where a killed one stopped, and does nothing where all is done.

    Args:
        interpreter: the run, in the direction from the text's language.
        text: of a file, see `Shard.lines_of`; its sentences become the real side. What comes of all parts of it,
            joined in order, is what comes of the whole, unless a rule compares pairs with each other.
        into: the folder; one that holds other things is refused.
        settings: which pairs are kept.
        watch: called with what is done, how many lines of it, and of how many.

    Raises:
        DataError: the text cannot be read, the folder holds other things, or no pair is left.
        RunError: another process writes there.
    """
    _must_be_ours(into)
    source, target = interpreter.translator.source, interpreter.translator.target
    asked = {"translations": _translate(interpreter, text, into, settings.window, watch), **settings.dump()}
    sides = {language: file_in(into, f"train.{language}") for language in (source, target)}
    found = read_json(into / MADE)
    if found is not None and found["key"] == asked and all(path.is_file() for path in sides.values()):
        log.info("%s: all is there; nothing to do", into)
        return dict(found)
    if found is not None and (found["from"], found["to"]) != (source, target):
        log.warning("%s: held back-translations from %s to %s, which make way", into, found["from"], found["to"])
    counts = _write(text, into / _TRANSLATED, (source, target), sides, settings)
    made = {"from": source, "to": target, "pairs": counts.pop("pairs"), "dropped": dict(counts), "key": asked}
    write_json(into / MADE, made)
    return made


def _translate(
    interpreter: LineTranslator, text: LineRange, into: Path, window: int, watch: Callable[[str, int, int], None]
) -> dict[str, Any]:
    """A row a line of the text, unless they are there: a mark of what is unfinished, a tab, and the translation.

    Returns what they hang on.
    """
    key = {**interpreter.key(), "first": text.first}
    known = read_json(into / _KEY) if (into / _TRANSLATED).is_file() else None
    if known is not None and known == {"text": digest_of(text), **key}:
        return dict(known)
    with resumable(text, into / _TRANSLATED, key) as result:
        for done in interpreter.windows(result.lines, window, text.first + result.done):
            result.write(done.lines, _rows(done), done.counts())
            watch("translating", result.done, len(text))
    made = {"text": result.digest, **key}
    write_json(into / _KEY, made)
    return made


def _rows(window: Window) -> list[str]:
    found = [translation.hypotheses[0] for translation in window.translations]
    return [f"{_FULL if one.full else ''}\t{one.text}" for one in found]


def _write(
    text: LineRange,
    translated: Path,
    languages: tuple[str, str],
    paths: dict[str, Path],
    settings: BackTranslationSettings,
) -> Counter[str]:
    """The pairs that pass all rules; counts what is kept as `pairs`, and what each rule drops.

    Raises:
        DataError: none is left.
    """
    counts: Counter[str] = Counter(pairs=0)
    sieve = FilterChain(build_filters(settings.filters))
    front = f"{settings.tag} " if settings.tag else ""
    real, made = (paths[language] for language in languages)
    with writing(real) as write, writing(made) as write_made:
        for lines, rows in _chunks(text, translated):
            kept = _kept(lines, rows, languages, settings, sieve, counts)
            write(lines[row].strip() for row in kept)
            write_made(front + rows[row][1].strip() for row in kept)
        counts.update(sieve.dropped)
        if not counts["pairs"]:
            why = ", ".join(f"{count:,} dropped as {rule}" for rule, count in counts.items() if count)
            raise DataError(f"{text.path}: no pair of it and its translation is left: {why}; see {translated}")
    return counts


def _kept(
    lines: Sequence[str],
    rows: Sequence[tuple[str, str]],
    languages: tuple[str, str],
    settings: BackTranslationSettings,
    sieve: FilterChain,
    counts: Counter[str],
) -> list[int]:
    """The numbers of the pairs that are kept."""
    full = np.array([bool(line.strip()) and bool(text.strip()) for line, (_, text) in zip(lines, rows, strict=True)])
    ended = np.array([settings.unfinished or mark != _FULL for mark, _ in rows])
    counts["empty"] += int((~full).sum())
    counts["unfinished"] += int((full & ~ended).sum())
    pairs = plain_pairs((list(lines), [text for _, text in rows]), languages, settings.word_tokenizer)
    kept = sieve.keep(pairs, full & ended)
    counts["pairs"] += int(kept.sum())
    found: list[int] = np.flatnonzero(kept).tolist()
    return found


def _chunks(text: LineRange, translated: Path) -> Iterator[tuple[list[str], list[tuple[str, str]]]]:
    """Lines, and marks and translations beside them."""
    lines, rows = iter(text), read_lines(translated)
    while taken := list(islice(lines, _CHUNK)):
        parts = [row.partition("\t") for row in islice(rows, len(taken))]
        if len(parts) != len(taken):
            raise DataError(f"{translated}: has fewer rows than {text.path} has lines; remove it to translate again")
        yield taken, [(mark, text) for mark, _, text in parts]


def _must_be_ours(into: Path) -> None:
    """Refuse to write among other things."""
    ours = (MADE, _KEY, _TRANSLATED, f".{_TRANSLATED}.partial")
    if into.exists() and not into.is_dir():
        raise DataError(f"{into}: a file stands where a folder is to be written")
    if into.is_dir() and any(into.iterdir()) and not any((into / name).exists() for name in ours):
        raise DataError(f"{into}: holds other things than back-translations; give a new folder")
