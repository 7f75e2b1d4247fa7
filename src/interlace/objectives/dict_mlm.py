"""Masked language modelling in which dictionary translations replace labels or input tokens (DICT-MLM).

Two objectives have this name. `label` is the one of Chaudhary et al. (2020): the model predicts a translation.

before  <s> the old doctor reads three letters </s>     dictionary: old/alt, doctor/Arzt
after   <s> the [M] [M]    reads three sea     </s>     predict: alt, doctor, letters

`input` is what the ALIGN-MLM paper's code trains under the name: the model sees a translation and predicts the word.

before  <s> the old doctor reads three letters </s>
after   <s> the alt [M]    reads three letters </s>     predict: old, doctor, letters

With `input`, chosen words that are not in the dictionary stay visible and are predicted nevertheless. A translation
that is shown gets the language id of its own language, as in that code. Chaudhary et al. add a layer that tells the
model the language of the label; like ALIGN-MLM (G.4) we omit it.

Legend: N predictions; n some of them.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from pydantic import Field

from interlace.core.ragged import BoolArray, IntArray, Ragged, begins_run
from interlace.core.randomness import Generator
from interlace.data import Sentences
from interlace.objectives import Batch, BoolOrAuto, Resources
from interlace.objectives.common.dictionaries import Dictionaries, Dictionary
from interlace.objectives.common.masking import PreparedMasked
from interlace.objectives.mlm import Mlm


@dataclass(frozen=True, kw_only=True)
class PreparedDictMlm(PreparedMasked):
    """Adds by language the translations of each token with their language ids; see `translation_tables`."""

    translations: dict[str, Ragged]


class DictMlm(Mlm):
    """Predict masked tokens, some of them in another language.

    Reads: text as `mlm`, and a dictionary.
    Relations: `mlm` with `probability` 0 (and in `label` mode if no word is in the dictionary); `align_mlm` uses a
    dictionary without changing the text.
    """

    term = "dict_mlm"
    needs = frozenset({"lexicon"})

    language_ids: BoolOrAuto = Field(
        "auto",
        description="Feed language ids; 'auto': if the model embeds them (ALIGN-MLM, G.4: on).",
    )
    dictionary: Dictionary = Field(
        default_factory=Dictionary, description="Dictionaries to learn from."
    )
    mode: Literal["label", "input"] = Field(
        "label",
        description="label: predict a translation (Chaudhary et al. 2020; ALIGN-MLM, G.4, in words); input: show a "
        "translation, unmasked, and predict the word itself (ALIGN-MLM's code).",
    )
    probability: float = Field(
        0.5,
        ge=0,
        le=1,
        description="Share of the chosen tokens looked up in the dictionary (DICT-MLM-50: 0.5).",
    )
    whole_words: bool = Field(
        True,
        description="Look up only tokens that are whole words; false: any token of that form (ALIGN-MLM's code).",
    )

    def prepare(self, resources: Resources) -> PreparedDictMlm:
        """Split the dictionaries and build a table for each language of the model; a DataError if none is usable."""
        lexicons = resources.lexicons
        vocab = resources.vocab
        seed = resources.seed
        dictionaries = self.dictionary.prepare(
            lexicons, vocab, self.name, seed=seed, max_tokens=1
        )
        text = replace(super().prepare(resources), dictionaries=dictionaries)
        shown = text.language_ids and self.mode == "input"
        ids = {}
        for languages, _ in dictionaries.trained_by_languages():
            for language in languages:
                ids[language] = resources.traits.language_id(language) if shown else 0
        translations = translation_tables(dictionaries, vocab.size, ids)
        return PreparedDictMlm(**vars(text), translations=translations)

    def batch(
        self, examples: Sentences, prepared: PreparedDictMlm, step: int, rng: Generator
    ) -> Batch:
        """Mask the text as `mlm`, then translate a share of the predictions."""
        batch = super().batch(examples, prepared, step, rng)
        table = prepared.translations.get(examples.language)
        if table is None:
            return batch
        rows, columns = batch.at
        draws = rng.random(len(batch.labels), dtype=np.float32)
        chosen = np.flatnonzero(draws < self.probability)
        words = chosen
        if self.whole_words:
            row_starts = examples.words.offsets[:-1] - examples.words.offsets[0]
            # without the first special token
            places = row_starts[rows[chosen]] + columns[chosen] - 1
            words = chosen[_is_whole_word(examples)[places]]
        tokens = batch.labels[words]
        starts = table.offsets[tokens]
        counts = table.offsets[tokens + 1] - starts
        nth = (rng.random(len(tokens)) * counts).astype(np.int64)
        is_known = counts > 0
        words = words[is_known]
        drawn = table.values[(starts + nth)[is_known]]
        if self.mode == "label":
            labels = batch.labels.copy()
            labels[words] = drawn[:, 0]
            return replace(batch, labels=labels)
        ids = batch.inputs["input_ids"]
        ids[rows[chosen], columns[chosen]] = batch.labels[chosen]
        ids[rows[words], columns[words]] = drawn[:, 0]
        language_input = prepared.traits.language_input
        if language_input in batch.inputs:
            batch.inputs[language_input][rows[words], columns[words]] = drawn[:, 1]
        return batch


def translation_tables(
    dictionaries: Dictionaries, size: int, language_ids: Mapping[str, int]
) -> dict[str, Ragged]:
    """Return by language, for each of the `size` token ids, rows of (translation, its language id).

    Entries are read in both directions; all words are single tokens. A token that translates a word in two languages
    has the language of the first dictionary.
    """
    columns: dict[str, list[IntArray]] = {}  # (3, entries) token, translation, language
    words = dictionaries.words
    tokens = words.flat.astype(np.int64)
    for (source, target), word_numbers in dictionaries.trained_by_languages():
        source_tokens, target_tokens = tokens[words.offsets[word_numbers]]
        source_ids = np.full(len(source_tokens), language_ids[source])
        target_ids = np.full(len(source_tokens), language_ids[target])
        forward = np.stack([source_tokens, target_tokens, target_ids])
        backward = np.stack([target_tokens, source_tokens, source_ids])
        columns.setdefault(source, []).append(forward)
        columns.setdefault(target, []).append(backward)
    tables = {}
    for language, parts in columns.items():
        entries = np.concatenate(parts, axis=1)
        distinct, numbers = np.unique(entries[:2], axis=1, return_index=True)
        counts = np.bincount(distinct[0], minlength=size)
        tables[language] = Ragged.from_lengths(entries[1:, numbers].T, counts)
    return tables


def _is_whole_word(sentences: Sentences) -> BoolArray:
    """(T,) whether each token is the only one of its word."""
    words = sentences.words
    begins = begins_run(words.rows(), words.flat)
    ends = np.append(begins[1:], True)
    return begins & ends
