"""Online back-translation (Sennrich et al. 2016; Lample et al. 2018; Conneau & Lample 2019, section 5.2).

    before  der alte Arzt liest drei Briefe
    first   the current model translates it: the old doctor reads letters three
    reads   <s> the old doctor reads letters three </s>
    writes  <2de>  der   alte  Arzt  liest  drei    Briefe
    next    der    alte  Arzt  liest  drei   Briefe  </s>

The target is real text, and the generated source improves with the model, so translation is learned without parallel
text. Only the second pass has gradients.

Legend: B sequences, L tokens of the longest source, T of the longest translation.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from pydantic import Field

from interlace.core.errors import SettingsError
from interlace.core.ragged import IntArray
from interlace.core.randomness import Generator
from interlace.data.layout import SPECIALS, sentence_layout
from interlace.objectives import Batch, Prepared, Preview, Resources, Term
from interlace.objectives.common.seq2seq import (
    Seq2SeqObjective,
    require_decoder,
    sentence_decoder,
)

if TYPE_CHECKING:
    from torch import Tensor, nn

    from interlace.data import Sentences
    from interlace.data.vocab import Vocab
    from interlace.models.backbone import Backbone

COPIED = "copied_share"
LENGTH = "length_ratio"


@dataclass(frozen=True, kw_only=True)
class PreparedBackTranslation(Prepared):
    """Adds what generation must know of the vocabulary.

    roles: (3,) ids of end and padding, and the size of the vocabulary.
    banned_ids: (n,) tokens that are never generated.
    intermediate_languages: languages to translate into.
    """

    roles: IntArray
    banned_ids: IntArray
    intermediate_languages: tuple[str, ...]


class BackTranslation(Seq2SeqObjective):
    """Write a sentence after reading the model's own translation of it into another language.

    Reads: sentences of one language per batch.
    Relations: `translation` reads human translations; `denoise` first teaches the decoder each language.
    Terms: `back_translation`, and two without weight: `copied_share`, the share of generated tokens that occur in the
        sentence they translate (each as often as there), and `length_ratio`, generated tokens per token of the
        sentence.
    """

    term = "back_translation"

    intermediate_languages: list[str] = Field(
        [],
        description="Languages to translate into, one drawn for each batch; none: all other languages of the recipe.",
    )

    def prepare(self, resources: Resources) -> PreparedBackTranslation:
        """Collect the tokens that must not be generated; raise a DataError if a language has no target token."""
        vocab = resources.vocab
        languages = tuple(self.intermediate_languages or resources.languages or vocab.targets)
        for language in languages:
            vocab.target(language)
        return PreparedBackTranslation(
            **vars(super().prepare(resources)),
            roles=np.array([vocab.end, vocab.pad, vocab.size], np.int64),
            banned_ids=np.setdiff1d(vocab.special_ids, [vocab.end]),
            intermediate_languages=languages,
        )

    def batch(
        self,
        examples: Sentences,
        prepared: PreparedBackTranslation,
        step: int,  # noqa: ARG002
        rng: Generator,
    ) -> Batch:
        """Lay out what the first pass reads and the second writes; raise a SettingsError for a lone language."""
        vocab = prepared.vocab
        language = examples.language
        layout = sentence_layout(examples, vocab, self.max_length)
        decoder = sentence_decoder(examples.ids, vocab.target(language), vocab, self.max_length)
        batch = self.seq2seq_batch(layout, language, decoder, language, prepared)
        candidates = [name for name in prepared.intermediate_languages if name != language]
        if not candidates:
            message = f"back_translation: there is no language to translate {language!r} into"
            raise SettingsError(f"{message}; name one in intermediate_languages")
        intermediate = candidates[int(rng.integers(len(candidates)))]
        lengths = np.minimum(examples.lengths, self.max_length - SPECIALS)
        limits = (1.3 * lengths).astype(np.int64) + 5  # as XLM's code
        limits = np.minimum(limits, self.max_length - SPECIALS)
        before, after = vocab.frame(intermediate)
        batch.extra |= {
            "target": np.array(vocab.target(intermediate), np.int64),
            "before": np.array(before, np.int64),
            "after": np.array(after, np.int64),
            "limits": limits,
            "roles": prepared.roles,
            "banned_ids": prepared.banned_ids,
        }
        if prepared.language_ids:
            language_id = prepared.traits.language_id(intermediate)
            batch.extra["target_language"] = np.array([language_id], np.int64)
        batch.counts |= {COPIED: len(examples), LENGTH: int(lengths.sum())}
        return batch

    def loss(self, backbone: Backbone, heads: nn.ModuleDict, batch: Batch) -> dict[str, Term]:
        """Translate without gradients, then return the loss of translating back."""
        from interlace.data.vocab import Frame
        from interlace.models.search import add_specials

        ids, lengths = self._translations(backbone, batch)
        _, pad, _ = batch.extra["roles"].tolist()
        frame = Frame(batch.extra["before"].tolist(), batch.extra["after"].tolist())
        inputs = add_specials(ids, lengths, frame, pad)
        if "target_language" in batch.extra:
            name = str(backbone.traits.language_input)
            languages = batch.extra["target_language"]
            inputs[name] = languages.expand_as(inputs["input_ids"]).contiguous()
        terms = super().loss(backbone, heads, replace(batch, inputs=inputs))
        shares = copied_share(ids, lengths, batch.inputs["input_ids"])
        terms[COPIED] = Term(shares.sum(), weight=0.0)
        terms[LENGTH] = Term(lengths.sum().float(), weight=0.0)
        return terms

    def preview(self, batch: Batch, vocab: Vocab) -> Preview:
        """Add what happens before the second pass."""
        target = " ".join(vocab.tokens(batch.extra["target"]))
        limit = int(batch.extra["limits"].max())
        note = f"first pass: the model translates what it reads, after {target}, into at most {limit} tokens"
        return Preview(super().preview(batch, vocab).lines, [note])

    def _translations(self, backbone: Backbone, batch: Batch) -> tuple[Tensor, Tensor]:
        """Return (B, T) greedy translations without dropout, padded, and (B,) lengths; the model's mode is restored."""
        import torch

        from interlace.models.backbone import eval_mode
        from interlace.models.search import ModelState, TokenConstraints, beam_search

        inputs = batch.inputs
        extra = batch.extra
        model = require_decoder(backbone, self.term)
        rows = len(extra["limits"])
        end, pad, size = extra["roles"].tolist()
        languages = None
        if "target_language" in extra and model.decoder_language_input is not None:
            languages = extra["target_language"].expand(rows)
        beyond_vocab = range(size, model.vocab_size)
        rules = TokenConstraints(end, pad, (*extra["banned_ids"].tolist(), *beyond_vocab))
        with eval_mode(model), torch.no_grad():
            start = model.start(model.encode(inputs), inputs.get("attention_mask"))
            decoding = ModelState(model, start, languages)
            first = decoding.first_tokens(extra["target"], rows)
            translations = beam_search(decoding, first, extra["limits"], rules, width=1)
        torch.clear_autocast_cache()  # weights cast without gradients must not be reused in the pass with gradients
        return translations.ids[:, 0], translations.lengths[:, 0]


def copied_share(ids: Tensor, lengths: Tensor, source: Tensor) -> Tensor:
    """Return (B,) the share of tokens that also occur in the source (B, L), each as often as there; ids: (B, T)."""
    import torch

    real = torch.arange(ids.shape[1], device=ids.device) < lengths[:, None]
    is_in_source = ids[:, :, None] == source[:, None, :]  # (B, T, L)
    is_same = ids[:, :, None] == ids[:, None, :]  # (B, T, T)
    in_source = is_in_source.sum(dim=2)
    so_far = is_same.tril().sum(dim=2)  # the token itself included
    is_copied = (so_far <= in_source) & real
    return is_copied.sum(dim=1) / lengths.clamp(min=1)
