"""Masked language modelling with words of a dictionary in the place of what is predicted or shown.

Two objectives go by this name. `label` is the one of Chaudhary et al. (2020): the model predicts a translation.

before  <s> the old doctor reads three letters </s>     dictionary: old/alt, doctor/Arzt
after   <s> the [M] [M]    reads three sea     </s>     predict: alt, doctor, letters

`input` is what the ALIGN-MLM paper's code trains under the name: the model sees a translation and predicts the word.

before  <s> the old doctor reads three letters </s>
after   <s> the alt [M]    reads three letters </s>     predict: old, doctor, letters

Half of what `input` chooses and the dictionary does not know stands there as it is and is predicted all the same. Where
the model has language embeddings, a translation that is shown has that of its own language, as in that code.
Chaudhary et al. tell the model by a further layer which language is asked for; like ALIGN-MLM (G.4) we leave it out.

Legend: N predictions; n some of them.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np
from pydantic import Field

from interlace.objectives._inputs import language_id
from interlace.objectives._translations import translations
from interlace.objectives._with_dictionary import PreparedWithDictionary, WithDictionary

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from interlace.core.ragged import Ragged
    from interlace.core.randomness import Generator
    from interlace.data import Sentences
    from interlace.objectives import Batch, Resources


@dataclass(frozen=True)
class PreparedDictMlm(PreparedWithDictionary):
    """Adds by language, for each subword, the subwords that translate it with their language ids."""

    translations: dict[str, Ragged]


class DictMlm(WithDictionary):
    """Predict masked subwords, some of them in another language.

    Reads: as `mlm`, and a dictionary.
    Relations: `mlm` with `probability` 0 (and in `label` mode where the dictionary knows no word); `align_mlm` uses a
    dictionary without touching the text.
    """

    term: ClassVar[str] = "dict_mlm"

    mode: Literal["label", "input"] = Field(
        "label",
        description="label: predict a translation (Chaudhary et al. 2020; the words of ALIGN-MLM, G.4); input: show "
        "one, unmasked, and predict the word itself (ALIGN-MLM's code).",
    )
    probability: float = Field(
        0.5, ge=0, le=1, description="Share of the chosen positions that the dictionary takes (DICT-MLM-50: 0.5)."
    )
    whole_words: bool = Field(
        True, description="Only subwords that are a word by themselves; false: any that is spelt so (ALIGN-MLM's code)."
    )
    several: Literal["drop", "first"] = Field(
        "drop", description="Translations of several subwords: left out, or their first subword stands for them."
    )

    def prepare(self, resources: Resources) -> PreparedDictMlm:
        """Draw from the dictionaries and make a table of translations for every language they hold.

        Raises:
            DataError: there is no dictionary, or none of its entries can be used.
            SettingsError: words of a language would be shown for which the model has no embedding.
        """
        most = 1 if self.several == "drop" else sys.maxsize
        dictionaries = self.dictionary.prepare(resources, "dict_mlm", most=most)
        text = self.for_masking(resources, "dict_mlm")
        told = text.language_ids and self.mode == "input"
        named = {language for one in dictionaries.drawn for language in one.languages}
        numbers = {language: language_id(resources.traits, language) if told else 0 for language in sorted(named)}
        tables = translations(dictionaries, resources.vocab.size, "dict_mlm", numbers)
        return PreparedDictMlm(resources.vocab, resources.traits, text, tables, dictionaries=dictionaries)

    def batch(self, examples: Sentences, prepared: PreparedDictMlm, step: int, rng: Generator) -> Batch:
        """A batch of `mlm`, in which a share of the predictions is translated."""
        batch = self.mlm.batch(examples, prepared.text, step, rng)
        batch = replace(batch, counts={self.term: len(batch.labels)})
        table = prepared.translations.get(examples.language)
        if table is None:
            return batch
        taken = np.flatnonzero(rng.random(len(batch.labels), dtype=np.float32) < self.probability)
        words = taken
        if self.whole_words:
            words = taken[_stands_alone(examples, batch.at[0][taken], batch.at[1][taken])]
        known, drawn = _drawn(batch.labels[words], table, rng)
        if self.mode == "label":
            return _asked(batch, words[known], drawn)
        return _shown(batch, taken, words[known], drawn, prepared.traits.language_input)


def _asked(batch: Batch, at: NDArray[np.int64], drawn: NDArray[np.int64]) -> Batch:
    """The batch with translations as the labels of the predictions `at`."""
    labels = batch.labels.copy()
    labels[at] = drawn[:, 0]
    return replace(batch, labels=labels)


def _shown(
    batch: Batch, taken: NDArray[np.int64], at: NDArray[np.int64], drawn: NDArray[np.int64], language_input: str | None
) -> Batch:
    """The batch with the words themselves shown at the predictions `taken`, and translations at those of them in `at`.

    language_input: the input that says of which language a subword is; changed where it is fed.
    """
    rows, columns = batch.at
    ids = batch.inputs["input_ids"].copy()
    ids[rows[taken], columns[taken]] = batch.labels[taken]
    ids[rows[at], columns[at]] = drawn[:, 0]
    inputs = {**batch.inputs, "input_ids": ids}
    if language_input in inputs:
        languages = inputs[language_input].copy()
        languages[rows[at], columns[at]] = drawn[:, 1]
        inputs[language_input] = languages
    return replace(batch, inputs=inputs)


def _drawn(words: NDArray[np.int64], table: Ragged, rng: Generator) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
    """Which subwords have a translation, and (n, 2) one of each of theirs, all alike likely, with its language."""
    starts, known = table.offsets[words], table.offsets[words + 1] - table.offsets[words]
    nth = (rng.random(len(words)) * known).astype(np.int64)
    has = known > 0
    return has, table.values[(starts + nth)[has]]


def _stands_alone(examples: Sentences, rows: NDArray[np.int64], columns: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Whether the subword in each place of `single`'s layout is the only one of its word."""
    words = examples.words
    first, last = words.offsets[rows] - words.offsets[0], words.offsets[rows + 1] - words.offsets[0] - 1
    at = first + columns - 1
    owner = words.flat
    begins = (at == first) | (owner[np.maximum(at - 1, 0)] != owner[at])
    ends = (at == last) | (owner[np.minimum(at + 1, len(owner) - 1)] != owner[at])
    return np.asarray(begins & ends, np.bool_)
