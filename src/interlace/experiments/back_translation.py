"""Offline back-translation: monolingual text and its translations by a run, as a parallel corpus.

Another model learns to translate from the synthetic side to the real one (Sennrich et al. 2016; Edunov et al. 2018 find
sampling better than beam search with much text). A tag before each synthetic sentence marks it (Caswell et al. 2019).

Translation takes nearly all the time and is resumable; filters take seconds and run again when their settings change.
"""

import logging
from collections import Counter
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import Field, field_validator

from interlace.core.errors import DataError, SettingsError
from interlace.core.names import file_in
from interlace.core.progress import Progress, no_progress
from interlace.core.settings import Settings
from interlace.data.filters import FilterChain, build_filters
from interlace.experiments.translation import LineRange, LineTranslator, digest_of, resumable
from interlace.models.settings import SearchSettings, SingleBestSearch
from interlace.readers.common.text import plain_pairs
from interlace.text.lines import read_lines, writing
from interlace.text.word_tokenizers import WORD_TOKENIZERS
from interlace.training.run_folder import read_json, write_json

log = logging.getLogger(__name__)
BACK_TRANSLATED = "back-translated.json"
_TRANSLATED, _KEY = "translations.tsv", "translations.json"
_MAX_LENGTH = "1"  # marks translations of maximum length, which rarely end with the sentence


class BackTranslationSettings(Settings):
    """How text is back-translated, and which pairs are kept."""

    search: SingleBestSearch = Field(default_factory=SearchSettings, description="Search or sampling of translations.")
    tag: str = Field(
        "",
        description="A word before each synthetic sentence, such as '<BT>' (Caswell et al. 2019). It is "
        "ordinary text: a few tokens, where the paper reserves one; lower-cased with the text.",
    )
    filters: dict[str, dict[str, Any]] = Field(
        {"ratio": {"unit": "characters"}, "identical": {"min_words": 3}},
        description="Filters of pairs, applied in order: see `interlace list filters`. The real side is the source.",
    )
    unfinished: bool = Field(False, description="Keep translations of maximum length.")
    word_tokenizer: str = Field("unicode", description="Word tokenizer of the filters.")
    window: int = Field(
        2000,
        ge=1,
        description="Lines read before they are translated; larger windows give batches of more even length.",
    )

    @field_validator("tag")
    @classmethod
    def _is_word(cls, tag: str) -> str:
        if tag.split() != [tag] * bool(tag):
            raise SettingsError(f"tag {tag!r}: expected one word without spaces")
        return tag

    @field_validator("word_tokenizer")
    @classmethod
    def _is_word_tokenizer(cls, word_tokenizer: str) -> str:
        WORD_TOKENIZERS.get(word_tokenizer)
        return word_tokenizer

    def model_post_init(self, _context: Any) -> None:
        """Check that the filters exist."""
        build_filters(self.filters)


def back_translate(
    translator: LineTranslator,
    text: LineRange,
    into: Path,
    settings: BackTranslationSettings,
    progress: Progress = no_progress,
) -> dict[str, Any]:
    """Write `train.LANGUAGE` for both languages into a folder; return the counts of kept and dropped pairs.

    The same call resumes an interrupted one, and does nothing if everything is done.

    Args:
        translator: from the language of the text.
        text: a shard of a file; its sentences become the real side. The results of all shards, joined in order, are
            those of the whole file, except for filters that compare pairs.
        into: the folder.
        settings: of translation and filters.
        progress: called with a description, the number of lines done and the total.

    Raises:
        DataError: the text cannot be read, the folder holds other files, or no pair is left.
        RunError: another process writes there.
    """
    _check_output(into)
    source, target = translator.translator.source, translator.translator.target
    key = {"translations": _translate(translator, text, into, settings.window, progress), **settings.dump()}
    sides = {language: file_in(into, f"train.{language}") for language in (source, target)}
    found = read_json(into / BACK_TRANSLATED)
    if found is not None and found["key"] == key and all(path.is_file() for path in sides.values()):
        log.info("%s is finished; nothing to do", into)
        return dict(found)
    if found is not None and (found["from"], found["to"]) != (source, target):
        log.warning("%s: replacing back-translations from %s to %s", into, found["from"], found["to"])
    counts = _write(text, into / _TRANSLATED, (source, target), sides, settings)
    made = {"from": source, "to": target, "pairs": counts.pop("pairs"), "dropped": dict(counts), "key": key}
    write_json(into / BACK_TRANSLATED, made)
    return made


def _translate(
    translator: LineTranslator, text: LineRange, into: Path, window: int, progress: Progress
) -> dict[str, Any]:
    """Write one row per line of the text, unless done: a mark of maximum length, a tab, and the translation.

    Returns everything that the rows depend on.
    """
    key = {**translator.key(), "first": text.first}
    known = read_json(into / _KEY) if (into / _TRANSLATED).is_file() else None
    if known is not None and known == {"text": digest_of(text), **key}:
        return dict(known)
    with resumable(text, into / _TRANSLATED, key) as result:
        for done in translator.windows(result.lines, window, text.first + result.done):
            found = [translation.hypotheses[0] for translation in done.translations]
            rows = [f"{_MAX_LENGTH if one.full else ''}\t{one.text}" for one in found]
            result.write(done.lines, rows, done.counts())
            progress("translating", result.done, len(text))
    made = {"text": result.digest, **key}
    write_json(into / _KEY, made)
    return made


def _write(
    text: LineRange,
    translated: Path,
    languages: tuple[str, str],
    paths: dict[str, Path],
    settings: BackTranslationSettings,
) -> Counter[str]:
    """Write the pairs that pass all filters; count them as `pairs`, and the pairs that each filter drops."""
    counts: Counter[str] = Counter(pairs=0)
    chain = FilterChain(build_filters(settings.filters))
    prefix = f"{settings.tag} " if settings.tag else ""
    real, made = (paths[language] for language in languages)
    with writing(real) as write, writing(made) as write_made:
        for lines, rows in _chunks(text, translated):
            full = np.array([bool(line.strip() and row[1].strip()) for line, row in zip(lines, rows, strict=True)])
            ended = np.array([settings.unfinished or mark != _MAX_LENGTH for mark, _ in rows])
            pairs = plain_pairs((lines, [text for _, text in rows]), languages, settings.word_tokenizer)
            kept = np.flatnonzero(chain.keep(pairs, full & ended)).tolist()
            counts.update(empty=int((~full).sum()), unfinished=int((full & ~ended).sum()), pairs=len(kept))
            write(lines[row].strip() for row in kept)
            write_made(prefix + rows[row][1].strip() for row in kept)
        counts.update(chain.dropped)
        if not counts["pairs"]:
            why = ", ".join(f"{count:,} dropped by {rule}" for rule, count in counts.items() if count)
            raise DataError(f"{text.path}: no pair is left: {why}; see {translated}")
    return counts


def _chunks(text: LineRange, translated: Path) -> Iterator[tuple[list[str], list[tuple[str, str]]]]:
    """Yield chunks of lines, and their marks and translations."""
    lines, rows = iter(text), read_lines(translated)
    while taken := list(islice(lines, 10_000)):
        parts = [row.partition("\t") for row in islice(rows, len(taken))]
        if len(parts) != len(taken):
            raise DataError(f"{translated}: has fewer rows than {text.path} has lines; remove it to translate again")
        yield taken, [(mark, text) for mark, _, text in parts]


def _check_output(into: Path) -> None:
    """Reject a folder with other files."""
    ours = {BACK_TRANSLATED, _KEY, _TRANSLATED, f".{_TRANSLATED}.partial", f".{_TRANSLATED}.lock"}
    if into.exists() and not into.is_dir():
        raise DataError(f"{into}: expected a folder, found a file")
    if into.is_dir() and (there := {path.name for path in into.iterdir()}) and not there & ours:
        raise DataError(f"{into}: holds other files than back-translations; give a new folder")
