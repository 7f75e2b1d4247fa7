"""Word alignments and phrases of a recipe's parallel corpora, cached independently of the vocabulary.

Alignments are cached by the files and their reading, the aligner with its settings and code, and its prior lexicon;
phrases by the alignments and the extraction rules.
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
_LOG_EVERY = 10.0  # seconds


def needs(recipe: Recipe, group: str, corpus: str) -> frozenset[str]:
    """Return the annotations that a training corpus of a group needs: a subset of `links`, `phrases`, `known`.

    Objectives determine them for the corpora that they read. If no objective needs any, an `[align]` section applies to
    all parallel corpora, so that alignments can be inspected before an objective is chosen.
    """
    needed = {name: recipe.objective(name).needs - {"lexicon"} for name in recipe.objectives}
    if not any(needed.values()):
        if recipe.align is None:
            return frozenset()
        return frozenset({"links"} if recipe.align.phrases is None else {"links", "phrases"})
    found: frozenset[str] = frozenset()
    for name, wanted in needed.items():
        chosen = recipe.objectives[name].corpora
        if not chosen or group in chosen or corpus in chosen:
            found |= wanted
    return found


def with_alignments(
    recipe: Recipe, group: CorpusGroup, corpus: str, root: Path, built: ParallelCorpus, wanted: frozenset[str]
) -> ParallelCorpus:
    """Return the corpus with the wanted annotations, from the cache or computed.

    Raises:
        DataError: as `align_corpus`; or phrases are wanted, but none is found.
        SettingsError: as `align_corpus`.
    """
    aligned = align_corpus(recipe, group, corpus, root)
    if not aligned.counts["links"]:
        log.warning(
            "%s: no alignment links in %s pairs; check that both sides are parallel line by line, or set another "
            "aligner (align.name)",
            corpus, f"{len(aligned):,}",
        )  # fmt: skip
    if not wanted & {"phrases", "known"}:
        return built.with_alignments(aligned)
    store = _phrases(recipe, aligned)
    if "known" in wanted and built.vocab is not None:
        _encode(store, built.vocab)
    return built.with_alignments(aligned, store, known="known" in wanted)


def _phrases(recipe: Recipe, aligned: WordAlignments) -> PhraseStore:
    """Return the phrases of an aligned corpus."""
    rules = (recipe.align.phrases if recipe.align is not None else None) or TableRules()
    for name in recipe.objectives:
        code_switching = getattr(recipe.objective(name), "code_switching", None)
        wanted = 0 if code_switching is None else code_switching.max_phrase_length
        if wanted > rules.max_phrase_length:
            raise SettingsError(
                f"objectives.{name}.code_switching.max_phrase_length = {wanted}, but phrases are extracted up to "
                f"{rules.max_phrase_length} words; set align.phrases.max_phrase_length = {wanted} too"
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
            f"{'-'.join(aligned.languages)}: no phrase occurs {rules.min_count} times in {len(aligned):,} pairs with "
            f"{aligned.counts['links']:,} links; lower align.phrases.min_count or align.phrases.min_confidence, or set "
            "another aligner (align.name)"
        )
    return store


def _encode(store: PhraseStore, vocab: Vocab) -> None:
    """Encode the phrases of the table for a vocabulary, once."""

    def build(into: Path) -> None:
        log.info("encoding the phrases of %s", "-".join(store.alignments.languages))
        store.write_encoded(vocab, into)

    key = {"phrases": store.folder.name, "vocab": vocab.fingerprint}
    store.read_encoded(vocab, cached("encoded-phrases", key, build))


def align_corpus(recipe: Recipe, group: CorpusGroup, corpus: str, root: Path) -> WordAlignments:
    """Return the word alignments of a group's training pairs, from the cache or computed.

    Raises:
        DataError: the reader cannot read a file, or the aligner fails on it.
        SettingsError: `align.priors` names a group without this language pair.
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
        log.info("aligning the words of %s with %r", corpus, aligner.name)
        spool = into / "words"  # removed when the alignments replace the folder
        spool.mkdir()
        pairs = training_pairs(recipe, group, corpus, root)
        words = WordPairs.of(pairs if recipe.toy else _check_tokenized(pairs, corpus), spool)
        fitted = aligner.fit(words, _lexicon(priors), _progress(corpus))
        about = {"aligner": aligner.name, "settings": aligner.dump()}
        WordAlignments.write(into, _aligned(words, fitted), about=about)

    return WordAlignments.open(cached("alignments", key, build))


def _files(aligner: Aligner) -> dict[str, str]:
    """Return the files in an aligner's settings by field."""
    return {name: path for name in aligner.files if (path := getattr(aligner, name))}


def _contents(aligner: Aligner) -> dict[str, str]:
    return {name: content_key(path) for name, path in _files(aligner).items()}


def _priors(recipe: Recipe, group: CorpusGroup, corpus: str, root: Path) -> Path | WordAlignments | None:
    """Return the source of the prior lexicon: a dictionary's path, or the alignments of another group."""
    wanted = recipe.align.priors if recipe.align is not None else None
    if wanted is None:
        return None
    if (other := recipe.corpora.get(wanted)) is None:
        return root / wanted.format(**names_of(corpus))
    if other is group:
        return None  # aligned first, without priors
    if corpus not in other.pairs:
        raise SettingsError(f"align.priors: the group {wanted!r} has no pair {corpus!r}{did_you_mean('', other.pairs)}")
    return align_corpus(recipe, other, corpus, root)


def _key(priors: Path | WordAlignments) -> str:
    return priors.folder.name if isinstance(priors, WordAlignments) else content_key(priors)


def _lexicon(priors: Path | WordAlignments | None) -> Lexicon | None:
    if isinstance(priors, WordAlignments):
        with TemporaryDirectory() as spool:
            words, found = priors.whole(Path(spool))
            return Lexicon.count(words, found.links)
    return None if priors is None else Lexicon.read(priors)


def _check_tokenized(chunks: Iterator[TextPairs], corpus: str) -> Iterator[TextPairs]:
    """Yield the same chunks; warn if the text is not tokenized but the word tokenizer is `whitespace`."""
    for number, chunk in enumerate(chunks):
        sides = [
            side
            for side in (chunk.source, chunk.target)
            if side.word_tokenizer == "whitespace" and is_untokenized(side)
        ]
        if number == 0 and sides:
            log.warning(
                "%s: untokenized text in %s, but words are split at whitespace; set word_tokenizer = 'unicode' or "
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
        module = Path(inspect.getfile(kind))  # may be of a plugin
        sources[f"kind/{module.name}"] = module.read_bytes()
    digest = blake2b(digest_size=8)
    for name, code in sorted(sources.items()):
        digest.update(name.encode("utf-8", "surrogateescape") + b"\0" + code + b"\0")
    return digest.hexdigest()


def _aligned(words: WordPairs, fitted: FittedAligner) -> Iterator[tuple[WordPairs, Ragged, NDArray[np.float32]]]:
    """Yield the alignments of all pairs of the corpus, chunk by chunk.

    Dropped pairs are removed only now, so that alignments from a file match by line.
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


def _progress(corpus: str) -> Progress:
    """Return a callback that logs a step every ten seconds."""
    last = time.monotonic()

    def progress(what: str, done: int, total: int) -> None:
        nonlocal last
        if time.monotonic() - last >= _LOG_EVERY:
            last = time.monotonic()
            log.info("%s: %s, %d of %d", corpus, what, done, total)

    return progress
