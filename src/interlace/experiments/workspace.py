"""The prepared data of a recipe, by name: an artifact each, which is built when it is first needed."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

from interlace.core.data_root import Root
from interlace.data.alignments import WordAlignments
from interlace.data.artifacts import Artifact, in_order
from interlace.data.corpus import Corpus, ParallelCorpus
from interlace.data.corpus_text import AnyCorpus, CorpusText, EncodedCorpus, StoredPairs
from interlace.experiments.alignments import CorpusAlignments, aligner_of
from interlace.experiments.data_root import data_root
from interlace.experiments.phrases import CorpusPhrases, phrase_rules
from interlace.experiments.recipe import CorpusOfGroup, Recipe
from interlace.experiments.texts import RecipeTexts
from interlace.experiments.vocabulary import vocabulary_of

if TYPE_CHECKING:
    from interlace.data.vocab import Vocab

log = logging.getLogger(__name__)


class Workspace:
    """The prepared data of a recipe: text, vocabulary, corpora, word alignments and phrases.

    Corpora are named as in `Recipe.named_corpora`.

    Errors of files are raised where the data are first needed: a DataError that names the file and the place.
    """

    def __init__(self, recipe: Recipe, vocab: Vocab | None = None) -> None:
        self.recipe = recipe
        if vocab is not None:
            self.vocab = vocab

    @cached_property
    def root(self) -> Root:
        """The data root, with the toy corpus and derived languages."""
        return data_root(self.recipe)

    @cached_property
    def texts(self) -> RecipeTexts:
        """The text of all corpora."""
        return RecipeTexts(self.recipe, self.root)

    @cached_property
    def vocab(self) -> Vocab:
        """The vocabulary, loaded or learned."""
        return vocabulary_of(self.recipe, self.texts)

    @cached_property
    def names(self) -> dict[str, CorpusOfGroup]:
        """The corpora by name."""
        return self.recipe.named_corpora

    @cached_property
    def groups(self) -> dict[str, list[str]]:
        """The names of the corpora of each group."""
        groups: dict[str, list[str]] = {}
        for name, (group, _) in self.names.items():
            groups.setdefault(group, []).append(name)
        return groups

    # ---- artifacts ----

    def text(self, name: str, split: str = "train") -> CorpusText:
        """Return the text of a corpus in a split, `train` or `dev`."""
        group, corpus = self.names[name]
        return self.texts.of(self.recipe.corpora[group], corpus, split)

    def corpus(self, name: str, split: str = "train") -> EncodedCorpus:
        """Return the corpus of a text, encoded with the vocabulary."""
        return EncodedCorpus(self.text(name, split), self.vocab, split)

    def alignments(self, name: str) -> CorpusAlignments:
        """Return the word alignments of a parallel training corpus."""
        corpus = self.names[name].corpus
        aligner = aligner_of(self.recipe, corpus, self.root)
        return CorpusAlignments(self.text(name), aligner)

    def phrases(self, name: str) -> CorpusPhrases:
        """Return the phrases of a parallel training corpus."""
        return CorpusPhrases(self.alignments(name), phrase_rules(self.recipe))

    def stored_text(self, name: str) -> StoredPairs:
        """Return the lines and words of a parallel training corpus."""
        return StoredPairs(self.text(name))

    def artifacts(self) -> list[Artifact[Any]]:
        """Return everything that training reads, each after what it needs."""
        artifacts: list[Artifact[Any]] = []
        for split in ("train", "dev"):
            for name in self.recipe.corpora_in(split):
                artifacts.append(self.corpus(name, split))
        for name in self.recipe.corpora_in("train"):
            annotations = self.recipe.annotations(name)
            if annotations & {"phrases", "known"}:
                artifacts.append(self.phrases(name))
            elif "links" in annotations:
                artifacts.append(self.alignments(name))
            if "text" in annotations:
                artifacts.append(self.stored_text(name))
        return in_order(artifacts)

    # ---- opened data ----

    def open(self) -> Workspace:
        """Build what is missing, open everything that training reads, and return the workspace itself."""
        log.info("word_tokenizer: %s", self.texts.word_tokenizer.name)
        _ = self.vocab, self.train, self.dev
        return self

    @cached_property
    def train(self) -> dict[str, AnyCorpus]:
        """The training corpora by name, with the annotations that objectives need."""
        corpora = {}
        for name in self.recipe.corpora_in("train"):
            corpus = self.corpus(name).get()
            if isinstance(corpus, ParallelCorpus) and self.recipe.annotations(name):
                corpus = self._annotated(name, corpus)
            corpora[name] = corpus
        return corpora

    @cached_property
    def dev(self) -> dict[str, AnyCorpus]:
        """The held-out corpora by name."""
        return {name: self.corpus(name, "dev").get() for name in self.recipe.corpora_in("dev")}

    @cached_property
    def readable(self) -> dict[str, AnyCorpus]:
        """All that an objective may read, by name: the training corpora, then the sides of parallel ones."""
        return {**self.train, **sides_of(self.train)}

    def _annotated(self, name: str, corpus: ParallelCorpus) -> ParallelCorpus:
        annotations = self.recipe.annotations(name)
        alignments = self._opened_alignments(name) if annotations - {"text"} else None
        phrases = None
        if annotations & {"phrases", "known"}:
            phrases = self.phrases(name).get()
        text = None
        if "text" in annotations:
            text = self.stored_text(name).get()
        known = "known" in annotations
        return corpus.annotated(alignments, phrases, text=text, known=known)

    def _opened_alignments(self, name: str) -> WordAlignments:
        alignments = self.alignments(name).get()
        if not alignments.counts["links"]:
            log.warning(
                "%s: no alignment links in %s pairs; check that both sides are parallel line by line, or set another "
                "aligner (align.name)",
                name,
                f"{len(alignments):,}",
            )
        return alignments


def sides_of(corpora: Mapping[str, AnyCorpus]) -> dict[str, Corpus]:
    """Return both sides of each parallel corpus as `CORPUS:LANGUAGE`, such as `en-de:en`, without copying."""
    sides = {}
    for name, corpus in corpora.items():
        if isinstance(corpus, ParallelCorpus):
            for side in corpus.sides:
                sides[f"{name}:{side.language}"] = side
    return sides
