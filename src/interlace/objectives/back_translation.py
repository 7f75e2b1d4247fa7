"""Back-translation on the fly (Sennrich et al. 2016; Lample et al. 2018; Conneau & Lample 2019, section 5.2).

    before  der alte Arzt liest drei Briefe
    first   the model as it is translates it: the old doctor reads letters three
    reads   <s> the old doctor reads letters three </s>
    writes  <2de>  der   alte  Arzt  liest  drei    Briefe
    next    der    alte  Arzt  liest  drei   Briefe  </s>

What is written is real text, and what is read gets better as the model does: so translation is learnt without one pair.
Only the second pass has a gradient.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from interlace.core.errors import SettingsError
from interlace.data import Sentences
from interlace.data.layout import sentence_layout
from interlace.objectives import Preview, Term
from interlace.objectives._inputs import language_id
from interlace.objectives._seq2seq import PreparedSeq2Seq, Seq2SeqObjective, must_translate, written_rows

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from torch import nn

    from interlace.core.randomness import Generator
    from interlace.data.vocab import Vocab
    from interlace.models.backbone import Backbone
    from interlace.objectives import Batch, Resources
    from interlace.objectives._own_translation import Said

COPIED, LENGTH = "copied_share", "length_ratio"


@dataclass(frozen=True)
class PreparedBackTranslation(PreparedSeq2Seq):
    """Adds what a search must know of the vocabulary.

    roles: (4,) begin, end, padding, and how many subwords there are. never: (n,) those that no sentence holds.
    through: languages to translate into.
    """

    roles: NDArray[np.int64]
    never: NDArray[np.int64]
    through: tuple[str, ...]


class BackTranslation(Seq2SeqObjective):
    """Write a sentence after reading what the model itself makes of it in another language.

    Reads: single sentences of one language a batch.
    Relations: `translation` reads what people wrote; `denoise` first teaches the decoder each language.
    Terms: `back_translation`, and two without weight, for the record: `copied_share` of the generated subwords stand
        in the sentence that they are to translate, each as often as there, and `length_ratio`, generated subwords by
        those of the sentence.
    """

    reads = Sentences
    term: ClassVar[str] = "back_translation"

    through: list[str] = Field(
        [], description="Languages to translate into, one drawn for each batch; none: all others of the recipe."
    )
    search: Literal["greedy", "sampled"] = Field(
        "greedy", description="Take the likeliest subword (XLM), or draw one (Edunov et al. 2018)."
    )
    temperature: float = Field(1.0, gt=0, le=100, description="Sampled: scores are divided by it.")
    top: int = Field(0, ge=0, description="Sampled: only from so many of the likeliest subwords; 0: from all.")
    max_ratio: float = Field(1.3, gt=0, description="A translation has at most ratio x n + extra subwords (XLM: 1.3).")
    max_extra: int = Field(5, ge=0, description="See max_ratio (XLM: 5).")
    reuse: int = Field(
        1,
        ge=1,
        description="Updates that learn from the same translations, which are most of the time. They are made anew "
        "behind every checkpoint, so that a run that stops there and goes on stays the same. Its last step is one too: "
        "a run that is given more steps when it is done is not the run that had them from the start.",
    )

    def model_post_init(self, _context: Any) -> None:
        """What is for draws is of no use to a search."""
        for name in ("temperature", "top"):
            if self.search == "greedy" and (value := getattr(self, name)) != type(self).model_fields[name].default:
                message = f"{name} = {value} is for draws, but search = 'greedy'; set search = 'sampled' too"
                raise ValueError(message)

    @property
    def stochastic(self) -> bool:  # type: ignore[override]
        """What it reads first is the sentence as it is."""
        return False

    @property
    def batch_uses(self) -> int:  # type: ignore[override]
        """The same sentences come as often as their translations are used."""
        return self.reuse

    def prepare(self, resources: Resources) -> PreparedBackTranslation:
        """What may be written, and in which languages.

        Raises:
            DataError: the vocabulary asks for no such language.
        """
        prepared, vocab = super().prepare(resources), resources.vocab
        through = tuple(self.through or resources.languages or vocab.targets)
        for language in through:
            vocab.target(language)
        roles = np.array([vocab.begin, vocab.end, vocab.pad, vocab.size], np.int64)
        never = np.setdiff1d(vocab.special_ids, [vocab.end])
        return PreparedBackTranslation(vocab, prepared.traits, prepared.language_ids, roles, never, through)

    def batch(
        self,
        examples: Sentences,
        prepared: PreparedBackTranslation,
        step: int,  # noqa: ARG002
        rng: Generator,
    ) -> Batch:
        """The sentences, to be read first and written in the end, and the language between.

        Raises:
            SettingsError: there is no other language.
        """
        vocab, language = prepared.vocab, examples.language
        layout = sentence_layout(examples, vocab, self.max_length)
        writing = written_rows(examples.ids, vocab.target(language), vocab, self.max_length)
        batch = self.laid_out(layout, (language,), writing, (language,), prepared)
        digest = int.from_bytes(blake2b(layout.ids.tobytes(), digest_size=8).digest()) >> 1
        others = _others(language, prepared.through)
        other = others[digest % len(others) if self.reuse > 1 else int(rng.integers(len(others)))]
        lengths = layout.lengths - 2
        limits = np.minimum((self.max_ratio * lengths).astype(np.int64) + self.max_extra, self.max_length - 2)
        extra = {
            "through": np.array([vocab.target(other)], np.int64),
            "limits": limits,
            "roles": prepared.roles,
            "never": prepared.never,
        }
        if self.reuse > 1:
            extra["number"] = np.array([digest], np.int64)
        if prepared.language_ids:
            extra["through_language"] = np.array([language_id(prepared.traits, other)], np.int64)
        counts = {**batch.counts, COPIED: len(examples), LENGTH: int(lengths.sum())}
        return replace(batch, extra=batch.extra | extra, counts=counts)

    def modules(self, backbone: Backbone) -> nn.ModuleDict:  # noqa: ARG002
        """No weights: a place for translations that are used again."""
        from torch import nn

        from interlace.objectives._own_translation import Kept

        return nn.ModuleDict({"kept": Kept(self.reuse)} if self.reuse > 1 else {})

    def loss(self, backbone: Backbone, heads: nn.ModuleDict, batch: Batch) -> dict[str, Term]:
        """Translate, then learn the way back."""
        said = self._said(backbone, heads, batch)
        begin, end, pad, _ = batch.extra["roles"].tolist()
        feed = None
        if "through_language" in batch.extra:
            rows = len(said.lengths)
            feed = (str(backbone.traits.language_input), batch.extra["through_language"].expand(rows))
        terms = self.entropies(backbone, said.inputs(begin, end, pad, feed), batch)
        terms[COPIED] = Term(said.copied(batch.inputs["input_ids"]).sum(), weight=0.0)
        terms[LENGTH] = Term(said.lengths.sum().float(), weight=0.0)
        return terms

    def preview(self, batch: Batch, vocab: Vocab) -> Preview:
        """Adds what happens before the second pass."""
        preview = super().preview(batch, vocab)
        (through,) = vocab.tokens(batch.extra["through"])
        longest = int(batch.extra["limits"].max(initial=0))
        note = f"the model writes what it reads behind {through}, in at most {longest} subwords, and then reads that"
        return Preview(preview.lines, [note])

    def _said(self, backbone: Backbone, heads: nn.ModuleDict, batch: Batch) -> Said:
        """What the model makes of the sentences, or made of them when they came before."""
        from interlace.models.decoding import TokenConstraints
        from interlace.models.generation import SearchSettings
        from interlace.objectives._own_translation import Order, translated

        extra: dict[str, Any] = batch.extra
        kept: Any = heads["kept"] if self.reuse > 1 else None
        known: Said | None = kept.of(int(extra["number"])) if kept is not None else None
        if known is not None:
            return known
        model = must_translate(backbone, self.term)
        rows = len(extra["limits"])
        _, end, pad, size = extra["roles"].tolist()
        languages = None
        if "through_language" in extra and model.decoder_language_input is not None:
            languages = extra["through_language"].expand(rows)
        sampled = SearchSettings(sample=True, temperature=self.temperature, top=self.top)
        order = Order(
            first=extra["through"].expand(rows),
            languages=languages,
            limits=extra["limits"],
            rules=TokenConstraints(end, pad, (*extra["never"].tolist(), *range(size, model.vocab_size))),
            search=sampled if self.search == "sampled" else SearchSettings(beam=1),
        )
        said = translated(model, batch.inputs, order)
        if kept is not None:
            kept.keep(int(extra["number"]), said)
        return said


def _others(language: str, through: tuple[str, ...]) -> list[str]:
    """The languages that sentences of `language` go through."""
    found = [other for other in through if other != language]
    if not found:
        message = f"back_translation: sentences in {language!r} are to be translated, and there is no other language"
        raise SettingsError(f"{message}; name one in through")
    return found
