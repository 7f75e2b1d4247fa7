"""The training text of a recipe's corpora, and their word alignments and phrases, cached apart from the vocabulary.

Alignments are cached by the files and their reading, the aligner with its settings and code, and its prior lexicon;
phrases by the alignments and the extraction rules.
"""

import inspect
import json
import logging
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import cache, lru_cache
from hashlib import blake2b
from importlib.resources import files
from itertools import combinations
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray

from interlace.aligners import FittedAligner
from interlace.alignment import WordPairs
from interlace.alignment.lexicon import Lexicon
from interlace.alignment.phrase_table import PhraseTable, TableRules
from interlace.core.errors import DataError, SettingsError, did_you_mean
from interlace.core.progress import Progress
from interlace.core.ragged import Ragged
from interlace.data.alignments import PhraseStore, WordAlignments
from interlace.data.build import filtered_text
from interlace.data.cache import cached, content_key
from interlace.data.corpus import ParallelCorpus
from interlace.data.filters import Filter, build_filters, sides
from interlace.data.inspection import AUTO, is_untokenized, word_tokenizer_for
from interlace.experiments.recipe import CorpusGroup, Recipe
from interlace.experiments.sections import AlignSettings, names_of
from interlace.readers import READERS
from interlace.text import Text, TextPairs
from interlace.text.word_tokenizers import WORD_TOKENIZERS, WordTokenizer

log = logging.getLogger(__name__)


def text_key(recipe: Recipe, group: CorpusGroup, corpus: str, split: str, root: Path) -> dict[str, Any]:
    """Return everything that the text of a corpus depends on: file contents, reader, normalization, filters, words."""
    languages = corpus.split("-")
    return {
        "languages": languages,
        "reader": group.reader,
        **group.subset_key(split),
        "files": [content_key(path) for path in group.files(split, corpus, root)],
        "word_tokenizer": words_key(recipe, languages, root),
        "normalization": recipe.normalization.dump(),
        "filters": [[rule.name, rule.dump()] for rule in filters_of(recipe, split)],
    }


def words_key(recipe: Recipe, languages: list[str], root: Path) -> list[str]:
    """Return everything that words depend on: the word tokenizer, and the package versions for each language."""
    word_tokenizer = word_tokenizer_of(recipe, root)
    return [word_tokenizer.name, *(word_tokenizer.of(language).package_versions for language in languages)]


def word_tokenizer_of(recipe: Recipe, root: Path) -> WordTokenizer:
    """Return the recipe's word tokenizer; `auto` is chosen by the first rows of all training text.

    All text of a recipe has the same one, so that words of corpora, alignments and dictionaries agree. Derived text
    follows its originals.
    """
    if recipe.word_tokenizer != AUTO:
        return WORD_TOKENIZERS.build(recipe.word_tokenizer)
    names = set[str]()
    for group in recipe.corpora.values():
        for corpus in group.trained:
            if not recipe.derived.keys() & {*corpus.split("-")}:
                names.add(_suitable(group, corpus, root))
    return WORD_TOKENIZERS.build("unicode" if "unicode" in names else "whitespace")


def word_tokenizer_note(recipe: Recipe, root: Path) -> str:
    """Say which word tokenizer `auto` means for a recipe; empty for one that is named."""
    if recipe.word_tokenizer != AUTO or not recipe.corpora:
        return ""
    name = word_tokenizer_of(recipe, root).name
    why = "text is untokenized" if name == "unicode" else "no text is recognized as untokenized"
    return f"words are found by {name!r}, since {why}; word_tokenizer = NAME in the recipe sets another"


def _suitable(group: CorpusGroup, corpus: str, root: Path) -> str:
    """Return the name of the word tokenizer that suits the first rows of a corpus; empty if they cannot be read.

    Whoever reads the whole corpus reports such an error, with its place.
    """
    try:
        files = group.files("train", corpus, root)
        changed = tuple(path.stat().st_mtime_ns if path.is_file() else 0 for path in files)
        return _suitable_for(json.dumps(group.reader), tuple(files), changed, tuple(corpus.split("-")))
    except DataError:
        return ""


@lru_cache(maxsize=4096)
def _suitable_for(reader: str, files: tuple[Path, ...], _changed: tuple[int, ...], languages: tuple[str, ...]) -> str:
    first = next(READERS.build(json.loads(reader)).read_chunks(list(files), list(languages)), None)
    texts = [] if first is None else sides(first)
    return word_tokenizer_for(*(Text.of(text.lines, text.language) for text in texts))


@cache
def code_hash(*packages: str) -> str:
    """Return a hash of the source code of subpackages such as `alignment`, on which cached data depends."""
    home, digest = Path(str(files("interlace"))), blake2b(digest_size=8)
    for path in (path for package in packages for path in sorted((home / package).rglob("*.py"))):
        digest.update(path.relative_to(home).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()


def plugin_hash(kind: type) -> str:
    """Return a hash of the file of a plugin's class; an empty string for classes of this package."""
    return "" if kind.__module__.startswith("interlace.") else content_key(Path(inspect.getfile(kind)))


def filters_of(recipe: Recipe, split: str) -> list[Filter]:
    """Return the recipe's filters for training text; held-out text is not filtered."""
    return build_filters(recipe.filters) if split == "train" else []


def corpora_with(groups: Iterable[CorpusGroup], language: str) -> Iterator[tuple[CorpusGroup, str, int]]:
    """Yield group, corpus and side of each training corpus of a language."""
    for group in groups:
        for corpus in group.trained:
            if language in (sides := corpus.split("-")):
                yield group, corpus, sides.index(language)


def side_texts(recipe: Recipe, group: CorpusGroup, corpus: str, side: int, root: Path) -> Iterator[Text]:
    """Yield the training text of one side of a corpus; lines that filters drop have no words."""
    return (texts[side] for texts in filtered_text(*_sources(recipe, group, corpus, root)))


def _sources(recipe: Recipe, group: CorpusGroup, corpus: str, root: Path) -> Any:
    languages, word_tokenizer = corpus.split("-"), word_tokenizer_of(recipe, root)
    chunks = group.reading().read_chunks(group.files("train", corpus, root), languages)
    return chunks, len(languages), word_tokenizer, recipe.normalization, Counter(), filters_of(recipe, "train")


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
    reading = {name: recipe.objectives[name].corpora for name in needed}
    return frozenset[str]().union(
        *(needed[name] for name, chosen in reading.items() if not chosen or {group, corpus} & {*chosen})
    )


def with_alignments(
    recipe: Recipe, group: CorpusGroup, corpus: str, root: Path, built: ParallelCorpus, wanted: frozenset[str]
) -> ParallelCorpus:
    """Return the corpus with the wanted annotations, from the cache or computed."""
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
    if "known" in wanted and (vocab := built.vocab) is not None:

        def encode(into: Path) -> None:
            log.info("encoding the phrases of %s", corpus)
            store.write_encoded(vocab, into)

        key = {"phrases": store.folder.name, "vocab": vocab.fingerprint}
        store.read_encoded(vocab, cached("encoded-phrases", key, encode))
    return built.with_alignments(aligned, store, known="known" in wanted)


def _phrases(recipe: Recipe, aligned: WordAlignments) -> PhraseStore:
    rules = (recipe.align.phrases if recipe.align is not None else None) or TableRules()
    for name in recipe.objectives:
        code_switching = getattr(recipe.objective(name), "code_switching", None)
        wanted = 0 if code_switching is None else code_switching.max_phrase_length
        if wanted > rules.max_phrase_length:
            raise SettingsError(
                f"objectives.{name}.code_switching.max_phrase_length = {wanted}, but phrases are extracted up to "
                f"{rules.max_phrase_length} words; set align.phrases.max_phrase_length = {wanted} too"
            )
    pair = "-".join(aligned.languages)

    def build(into: Path) -> None:
        log.info("counting the phrases of %s", pair)
        spool = into / "words"
        spool.mkdir()
        words, found = aligned.whole(spool)
        table = PhraseTable.count(words, found.links, rules, confidence=found.confidence.flat)
        PhraseStore.write(into, aligned, table, rules)

    key = {"links": aligned.folder.name, "rules": rules.dump(), "version": code_hash("alignment", "data")}
    store = PhraseStore.open(cached("phrases", key, build), aligned)
    if not store.counts["phrases"]:
        raise DataError(
            f"{pair}: no phrase occurs {rules.min_count} times in {len(aligned):,} pairs with "
            f"{aligned.counts['links']:,} links; lower align.phrases.min_count or align.phrases.min_confidence, or set "
            "another aligner (align.name)"
        )
    return store


def align_corpus(recipe: Recipe, group: CorpusGroup, corpus: str, root: Path) -> WordAlignments:
    """Return the word alignments of a group's training pairs, from the cache or computed."""
    aligner = (recipe.align or AlignSettings()).aligner(names_of(corpus))
    paths = {name: str(path) for name, path in aligner_files(recipe, corpus, root).items()}
    aligner = aligner.model_copy(update=paths)
    priors = _priors(recipe, group, corpus, root)
    key = {
        **text_key(recipe, group, corpus, "train", root),
        "aligner": [aligner.name, {**aligner.dump(), **{name: content_key(path) for name, path in paths.items()}}],
        "priors": priors.folder.name if isinstance(priors, WordAlignments) else priors and content_key(priors),
        "version": [code_hash("alignment", "aligners"), plugin_hash(type(aligner))],
    }

    def build(into: Path) -> None:
        log.info("aligning the words of %s with %r", corpus, aligner.name)
        spool = into / "words"  # removed when the alignments replace the folder
        spool.mkdir()
        pairs = (TextPairs(source, target) for source, target in filtered_text(*_sources(recipe, group, corpus, root)))
        words = WordPairs.of(pairs if recipe.toy else _check_tokenized(pairs, corpus), spool)
        fitted = aligner.fit(words, _lexicon(priors), _progress(corpus))
        about = {"aligner": aligner.name, "settings": aligner.dump()}
        WordAlignments.write(into, _aligned(words, fitted), about=about)

    return WordAlignments.open(cached("alignments", key, build))


def aligner_files(recipe: Recipe, corpus: str, root: Path) -> dict[str, Path]:
    """Return the files that the settings of a corpus's aligner name, by setting."""
    aligner = (recipe.align or AlignSettings()).aligner(names_of(corpus))
    paths: dict[str, Path] = {}
    for setting in aligner.files:
        if path := getattr(aligner, setting):
            paths[setting] = root / path
    return paths


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


def vector_dictionaries(recipe: Recipe, pattern: str, root: Path) -> dict[tuple[str, str], Path]:
    """Return the dictionaries of `embeddings.dictionary` by language pair, in either direction; at least one."""
    paths: dict[tuple[str, str], Path] = {}
    searched: list[Path] = []
    for source, target in combinations(recipe.languages, 2):
        for pair in ((source, target), (target, source)):
            path = root / pattern.format(source=pair[0], target=pair[1])
            searched.append(path)
            if path.is_file():
                paths[pair] = path
                break
    if not paths:
        places = ", ".join(map(str, searched[:3])) or "none: the recipe has one language"
        raise DataError(f"embeddings.dictionary: no such file; looked for {places}")
    return paths


def _lexicon(priors: Path | WordAlignments | None) -> Lexicon | None:
    if isinstance(priors, WordAlignments):
        with TemporaryDirectory() as spool:
            words, found = priors.whole(Path(spool))
            return Lexicon.count(words, found.links)
    return None if priors is None else Lexicon.read(priors)


def _check_tokenized(chunks: Iterator[TextPairs], corpus: str) -> Iterator[TextPairs]:
    """Yield the same chunks; warn if the text is not tokenized but the word tokenizer is `whitespace`."""
    for number, chunk in enumerate(chunks):
        sides = [side for side in (chunk.source, chunk.target) if side.word_tokenizer == "whitespace"]
        if number == 0 and (raw := [side.language for side in sides if is_untokenized(side)]):
            log.warning(
                "%s: untokenized text in %s, but words are split at whitespace; set word_tokenizer = 'unicode' or "
                "'by_language' in the recipe",
                corpus, " and ".join(raw),
            )  # fmt: skip
        yield chunk


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
        if time.monotonic() - last >= 10.0:
            last = time.monotonic()
            log.info("%s: %s, %d of %d", corpus, what, done, total)

    return progress
