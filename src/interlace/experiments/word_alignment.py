"""Word links and phrases as a step of recipes: found once for the text of a corpus, whatever its vocabulary; cached.

The key of links holds all that they depend on: the files and how they are read, the aligner with its settings and its
code, and what it knew beforehand. That of phrases holds the links and the rules. The vocabulary is in neither.
"""

from __future__ import annotations

import inspect
import logging
import time
from dataclasses import replace
from functools import cache
from hashlib import blake2b
from importlib.resources import files
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import numpy as np

from interlace.alignment import WordPairs
from interlace.alignment.lexicon import Lexicon
from interlace.alignment.phrase_table import PhraseTable, TableRules
from interlace.core.errors import DataError, SettingsError, did_you_mean
from interlace.data.alignments import WordAlignments
from interlace.data.cache import cached, content_key
from interlace.data.inspection import is_untokenized
from interlace.data.phrases import PhraseStore
from interlace.experiments.sections import AlignSettings, names_of
from interlace.experiments.training_text import text_key, training_pairs

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from interlace.aligners import Aligner, FittedAligner
    from interlace.core.progress import Progress
    from interlace.core.ragged import Ragged
    from interlace.data.corpus import ParallelCorpus
    from interlace.data.vocab import Vocab
    from interlace.experiments.recipe import CorpusGroup, Recipe
    from interlace.text import TextPairs

log = logging.getLogger(__name__)
_EVERY = 10.0  # seconds between two lines on how far an aligner is


def needs(recipe: Recipe, group: str, corpus: str) -> frozenset[str]:
    """What the training corpus `corpus` of a group needs beside its pairs: `links`, `phrases`, `known`; mostly nothing.

    An objective that needs links has them found for the corpora it reads. Where none does, a recipe with an `[align]`
    section has them found for all its translations: so links can be looked at before an objective is chosen.
    """
    asked = {name: recipe.objective(name).needs - {"lexicon"} for name in recipe.objectives}  # stands beside no corpus
    if not any(asked.values()):
        return _section(recipe.align)
    found: frozenset[str] = frozenset()
    for name, wanted in asked.items():
        chosen = recipe.objectives[name].corpora
        if not chosen or group in chosen or corpus in chosen:
            found |= wanted
    return found


def _section(align: AlignSettings | None) -> frozenset[str]:
    if align is None:
        return frozenset()
    return frozenset({"links"}) if align.phrases is None else frozenset({"links", "phrases"})


def beside(
    recipe: Recipe, group: CorpusGroup, corpus: str, root: Path, built: ParallelCorpus, wanted: frozenset[str]
) -> ParallelCorpus:
    """The corpus with what is wanted beside its pairs, from the cache, made where it is not there yet.

    Raises:
        DataError: as `linked`; or phrases are wanted, and there are none.
        SettingsError: as `linked`.
    """
    aligned = linked(recipe, group, corpus, root)
    if not aligned.counts["links"]:
        log.warning(
            "%s: no word of %s pairs is linked; are its sides translations line by line? Else take another aligner "
            "(align.name)",
            corpus, f"{len(aligned):,}",
        )  # fmt: skip
    if not wanted & {"phrases", "known"}:
        return built.with_alignments(aligned)
    store = _stored(recipe, aligned)
    if "known" in wanted and built.vocab is not None:
        _encode(store, built.vocab)
    return built.with_alignments(aligned, store, known="known" in wanted)


def _stored(recipe: Recipe, aligned: WordAlignments) -> PhraseStore:
    """The phrases in the links of a corpus."""
    rules = (recipe.align.phrases if recipe.align is not None else None) or TableRules()
    for name in recipe.objectives:
        code_switching = getattr(recipe.objective(name), "code_switching", None)
        wanted = 0 if code_switching is None else code_switching.max_phrase_length
        if wanted > rules.max_phrase_length:
            raise SettingsError(
                f"objectives.{name}.code_switching.max_phrase_length = {wanted}, but phrases of at most "
                f"{rules.max_phrase_length} words are stored; set align.phrases.max_phrase_length = {wanted} too"
            )

    def build(into: Path) -> None:
        log.info("counting the phrases of %s", "-".join(aligned.languages))
        spools = (into / "words", into / "counts")
        for spool in spools:
            spool.mkdir()
        words, found = aligned.whole(spools[0])
        table = PhraseTable.count(words, found.links, rules, spools[1], found.confidence.flat)
        PhraseStore.write(into, aligned, table, rules)

    key = {"links": aligned.folder.name, "rules": rules.dump(), "version": version()}
    store = PhraseStore.open(cached("phrases", key, build), aligned)
    if not store.counts["phrases"]:
        raise DataError(
            f"{'-'.join(aligned.languages)}: of {aligned.counts['links']:,} links in {len(aligned):,} pairs no phrase "
            f"is found that stands there {rules.min_count} times; lower align.phrases.min_count or "
            "align.phrases.min_confidence, or take another aligner (align.name)"
        )
    return store


def _encode(store: PhraseStore, vocab: Vocab) -> None:
    """Have the phrases of the table encoded once for a vocabulary."""

    def build(into: Path) -> None:
        log.info("encoding the phrases of %s", "-".join(store.alignments.languages))
        store.write_encoded(vocab, into)

    key = {"phrases": store.folder.name, "vocab": vocab.fingerprint}
    store.read_encoded(vocab, cached("encoded-phrases", key, build))


def linked(recipe: Recipe, group: CorpusGroup, corpus: str, root: Path) -> WordAlignments:
    """The words and links of a group's training pairs, from the cache, found where they are not there yet.

    Raises:
        DataError: a file is not as its reader expects, or the aligner cannot work on it.
        SettingsError: the section's priors name a group without this pair of languages.
    """
    settings = recipe.align or AlignSettings()
    aligner = settings.aligner(names_of(corpus))
    aligner = aligner.model_copy(update={name: str(root / path) for name, path in _files(aligner).items()})
    priors = _priors(recipe, group, corpus, root)
    key = {
        **text_key(recipe, group, corpus, "train", root),
        "aligner": [aligner.name, {**aligner.dump(), **_contents(aligner)}],
        "priors": None if priors is None else _key(priors),
        "version": version(type(aligner)),
    }

    def build(into: Path) -> None:
        log.info("linking the words of %s with the aligner %r", corpus, aligner.name)
        spool = into / "words"  # goes when the links take the folder's place
        spool.mkdir()
        pairs = training_pairs(recipe, group, corpus, root)
        words = WordPairs.of(pairs if recipe.toy else _looked_over(pairs, corpus), spool)  # the world is as it is
        fitted = aligner.fit(words, _lexicon(priors), _watch(corpus))
        about = {"aligner": aligner.name, "settings": aligner.dump()}
        WordAlignments.write(into, _aligned(words, fitted), about=about)

    return WordAlignments.open(cached("links", key, build))


def _files(aligner: Aligner) -> dict[str, str]:
    """The files that an aligner's settings name, by field."""
    return {name: path for name in aligner.files if (path := getattr(aligner, name))}


def _contents(aligner: Aligner) -> dict[str, str]:
    return {name: content_key(path) for name, path in _files(aligner).items()}


def _priors(recipe: Recipe, group: CorpusGroup, corpus: str, root: Path) -> Path | WordAlignments | None:
    """What the aligner may know beforehand: a dictionary's path, or the links of another group's pairs."""
    wanted = recipe.align.priors if recipe.align is not None else None
    if wanted is None:
        return None
    if (other := recipe.corpora.get(wanted)) is None:
        return root / wanted.format(**names_of(corpus))
    if other is group:
        return None  # they come first, without any
    if corpus not in other.pairs:
        raise SettingsError(f"align.priors: the group {wanted!r} has no pair {corpus!r}{did_you_mean('', other.pairs)}")
    return linked(recipe, other, corpus, root)


def _key(priors: Path | WordAlignments) -> str:
    return priors.folder.name if isinstance(priors, WordAlignments) else content_key(priors)


def _lexicon(priors: Path | WordAlignments | None) -> Lexicon | None:
    if isinstance(priors, WordAlignments):
        with TemporaryDirectory() as spool:
            words, found = priors.whole(Path(spool))
            return Lexicon.count(words, found.links)
    return None if priors is None else Lexicon.read(priors)


def _looked_over(chunks: Iterator[TextPairs], corpus: str) -> Iterator[TextPairs]:
    """The same chunks; says where `whitespace` takes punctuation, or a clause of Chinese, for a part of a word."""
    for number, chunk in enumerate(chunks):
        sides = [
            side
            for side in (chunk.source, chunk.target)
            if side.word_tokenizer == "whitespace" and is_untokenized(side)
        ]
        if number == 0 and sides:
            log.warning(
                "%s: plain text in %s, and words are what stands between blanks; say word_tokenizer = 'unicode' or "
                "'by_language' in the recipe",
                corpus, " and ".join(side.language for side in sides),
            )  # fmt: skip
        yield chunk


@cache
def version(kind: type[Aligner] | None = None) -> str:
    """Return a hash of the code of `alignment` and, for an aligner, of `aligners`; alignments depend on it."""
    packages = ["interlace.alignment"] if kind is None else ["interlace.alignment", "interlace.aligners"]
    folders = [Path(str(files(package))) for package in packages]
    sources = {
        f"{folder.name}/{path.relative_to(folder).as_posix()}": path.read_bytes()
        for folder in folders
        for path in folder.rglob("*.py")
    }
    if kind is not None:
        module = Path(inspect.getfile(kind))  # of a plugin, maybe
        sources[f"kind/{module.name}"] = module.read_bytes()
    digest = blake2b(digest_size=8)
    for name, code in sorted(sources.items()):
        digest.update(name.encode("utf-8", "surrogateescape") + b"\0" + code + b"\0")
    return digest.hexdigest()


def _aligned(words: WordPairs, fitted: FittedAligner) -> Iterator[tuple[WordPairs, Ragged, NDArray[np.float32]]]:
    """The links of all pairs that the corpus holds, chunk by chunk.

    Pairs that it leaves out were there without words until now, so that links from a file are found by their line.
    """
    for chunk in words.chunks():
        found = fitted.align_training_pairs(chunk)
        kept = chunk.source.lengths > 0
        if kept.all():
            yield chunk, found.links, found.confidence
        else:
            confidence = found.confidence[np.repeat(kept, found.links.lengths)]
            words_kept = replace(chunk, source=chunk.source.take(kept), target=chunk.target.take(kept))
            yield words_kept, found.links.take(kept), confidence


def _watch(corpus: str) -> Progress:
    """Logs a step now and then, so that hours of alignment are not silent and seconds of it are."""
    last = time.monotonic()

    def progress(what: str, done: int, total: int) -> None:
        nonlocal last
        if time.monotonic() - last >= _EVERY:
            last = time.monotonic()
            log.info("%s: %s, %d of %d", corpus, what, done, total)

    return progress
