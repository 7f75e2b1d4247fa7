"""Masked language modelling with words of a dictionary in the place of what is predicted or shown.

Two objectives go by this name. `label` is the one of Chaudhary et al. (2020): the model predicts a translation.

before  <s> the old doctor reads three letters </s>     dictionary: old/alt, doctor/Arzt
after   <s> the [M] [M]    reads three sea     </s>     predict: alt, doctor, letters

`input` is what the ALIGN-MLM paper's code trains under the name: the model sees a translation and predicts the word.

before  <s> the old doctor reads three letters </s>
after   <s> the alt [M]    reads three letters </s>     predict: old, doctor, letters

Half of what `input` chooses and the dictionary does not know stands there as it is and is predicted all the same.
Chaudhary et al. tell the model by a further layer which language is asked for; like ALIGN-MLM (G.4) we leave it out.

Legend: N predictions; V vocabulary.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np
from pydantic import Field

from interlace.objectives._translations import translations
from interlace.objectives._with_dictionary import PreparedWithDictionary, WithDictionary

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from interlace.data import Sentences
    from interlace.objectives import Batch, Resources
    from interlace.ragged import Ragged
    from interlace.randomness import Generator


@dataclass(frozen=True)
class PreparedDictMlm(PreparedWithDictionary):
    """Adds by language, for each subword, the subwords that translate it."""

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
        """
        most = 1 if self.several == "drop" else sys.maxsize
        dictionaries = self.dictionary.prepare(resources, "dict_mlm", most=most)
        tables = translations(dictionaries, resources.vocab.size, "dict_mlm")
        text = self.for_masking(resources, "dict_mlm")
        return PreparedDictMlm(resources.vocab, resources.traits, text, tables, dictionaries=dictionaries)

    def batch(self, examples: Sentences, prepared: PreparedDictMlm, step: int, rng: Generator) -> Batch:
        """A batch of `mlm`, in which a share of the predictions is translated."""
        batch = self.mlm.batch(examples, prepared.text, step, rng)
        batch = replace(batch, counts={self.term: len(batch.labels)})
        table = prepared.translations.get(examples.language)
        if table is None:
            return batch
        taken = np.flatnonzero(rng.random(len(batch.labels), dtype=np.float32) < self.probability)
        words = batch.labels[taken]
        if self.whole_words:
            known = _stands_alone(examples, batch.at[0][taken], batch.at[1][taken])
            translated = words.copy()
            translated[known] = _drawn(words[known], table, rng)
        else:
            translated = _drawn(words, table, rng)
        return self._changed(batch, taken, translated)

    def _changed(self, batch: Batch, taken: NDArray[np.int64], words: NDArray[np.int64]) -> Batch:
        """The batch with `words` predicted, or shown, at the predictions `taken`."""
        if self.mode == "label":
            labels = batch.labels.copy()
            labels[taken] = words
            return replace(batch, labels=labels)
        ids = batch.inputs["input_ids"].copy()
        ids[batch.at[0][taken], batch.at[1][taken]] = words
        return replace(batch, inputs={**batch.inputs, "input_ids": ids})


def _drawn(words: NDArray[np.int64], table: Ragged, rng: Generator) -> NDArray[np.int64]:
    """One of each subword's translations, all alike likely; itself where it has none."""
    starts, known = table.offsets[words], table.offsets[words + 1] - table.offsets[words]
    nth = (rng.random(len(words)) * known).astype(np.int64)
    found = words.copy()
    has = known > 0
    found[has] = table.values[(starts + nth)[has]]
    return found


def _stands_alone(examples: Sentences, rows: NDArray[np.int64], columns: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Whether the subword in each place of `single`'s layout is the only one of its word."""
    words = examples.words
    first, last = words.offsets[rows] - words.offsets[0], words.offsets[rows + 1] - words.offsets[0] - 1
    at = first + columns - 1
    owner = words.flat
    begins = (at == first) | (owner[np.maximum(at - 1, 0)] != owner[at])
    ends = (at == last) | (owner[np.minimum(at + 1, len(owner) - 1)] != owner[at])
    return np.asarray(begins & ends, np.bool_)
