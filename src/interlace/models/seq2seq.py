"""The encoder-decoder: a backbone that reads, and a decoder that writes what comes of it.

It stands wherever a `Backbone` does: the encoder does what that does, and `logits` is the decoder's head, which the
encoder shares where both are of one family. So one model learns by `translation` and `mlm` in turn, in the same loop,
and an encoder task reads its encoder.

The target language is the first subword that the decoder reads (`Vocab.target`); with language embeddings, every
subword has its vector besides.

Legend: B rows, L subwords of the longest source, T of the longest target, H width, N predictions, R rows of a search,
V vocabulary.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import torch

from interlace.core.errors import SettingsError
from interlace.models.backbone import Backbone
from interlace.models.languages import known

if TYPE_CHECKING:
    from pathlib import Path

    from torch import Tensor

    from interlace.data.vocab import Vocab
    from interlace.models._crossed import Crossed
    from interlace.models._memory import Memory


class Seq2Seq(Backbone):
    """A backbone with a decoder of the same width and vocabulary.

    model: the encoder's transformers model; all that a `Backbone` does, but for `logits`, is done by it.
    decoder: layers with cross-attention, and the vocabulary head.
    longest_target: subwords of the longest row that it writes, the target language among them.
    decoder_languages: language -> id of its embedding in the decoder; empty where there are none.
    decoder_language_input: the input of `decode` that they come in by, or None.
    """

    def __init__(self, encoder: Backbone, decoder: Crossed, notes: tuple[str, ...] = ()) -> None:
        super().__init__(encoder.model, encoder.carried, (*encoder.notes, *notes))
        self.decoder = decoder
        positions = int(decoder.config.max_position_embeddings)
        self.longest_target = positions - decoder.family.first_position(decoder.config)
        self.traits = replace(self.traits, max_length=min(self.traits.max_length, self.longest_target))
        self.decoder_languages: dict[str, int] = known(decoder.config)
        self.decoder_language_input = decoder.family.language_input if self.decoder_languages else None

    @property
    def encoder(self) -> Backbone:
        """The encoder alone, with the same weights; tasks that only read tune it."""
        return Backbone(self.model, self.carried, self.notes)

    @property
    def shared(self) -> bool:
        """Whether both sides read one table of subwords."""
        return self.decoder.model.get_input_embeddings().weight is self.table

    def decode(
        self, states: Tensor, mask: Tensor | None, inputs: dict[str, Tensor], first: Tensor | None = None
    ) -> Tensor:
        """(B, T, H) states from which `logits` tells what comes next, each subword seeing those before it.

        Args:
            states: (B, L, H) of the encoder.
            mask: (B, L) true (or 1) where they are real; none: all are.
            inputs: `input_ids` (B, T), padded on the right, and the language input of `decoder_language_input` (B, T).
            first: (B,) the place at which each row begins, where it is a fragment; a family that knows distances alone
                does without. None: all begin at the first. Whoever gives it sees to it that no row ends behind
                `longest_target`: looking would stop a GPU at every step.

        Raises:
            SettingsError: an input that the decoder would ignore, or a row that is too long.
        """
        foreign = set(inputs) - {"input_ids", self.decoder_language_input}
        if foreign:
            raise SettingsError(f"this {self.decoder.family.name} decoder cannot read {min(foreign)!r}")
        self._must_fit(inputs["input_ids"].shape[1])
        found: Tensor = self.decoder(states, mask, inputs["input_ids"], self._languages(inputs), first)
        return found

    def logits(self, states: Tensor) -> Tensor:
        """(N, V) scores of the vocabulary from (N, H) states, by the decoder's whole head."""
        return self.decoder.logits(states)

    @torch.no_grad()
    def start(self, states: Tensor, mask: Tensor | None = None) -> Memory:
        """What a search begins with: a row a source, nothing written yet; see `decode` for `states` and `mask`."""
        return self.decoder.begin(states, mask)

    @torch.no_grad()
    def step(self, memory: Memory, tokens: Tensor, languages: Tensor | None = None) -> Tensor:
        """(R, V) float32 scores of what comes after `tokens` (R,), the next subword of each row; `memory` takes it in.

        languages: (R,) language ids, where `decoder_language_input` asks for them.

        Raises:
            SettingsError: the rows have grown longer than the decoder reads.
        """
        self._must_fit(memory.length + 1)
        return self.logits(self.decoder.advance(memory, tokens, languages)).float()

    def save_pretrained(
        self,
        folder: Path,
        vocab: Vocab,
        *,
        fold_language: str | None = None,
        dtype: torch.dtype = torch.float32,
    ) -> Path:
        """Write a checkpoint with its tokenizer, which `models.build.load` opens; whole or not at all.

        A BERT or RoBERTa decoder makes an ordinary `EncoderDecoderModel` of transformers; ModernBERT, which
        transformers knows as no decoder, a folder with an ordinary checkpoint of the encoder in `encoder/`.

        Args:
            folder: where; a checkpoint that stands there is replaced, anything else is refused.
            vocab: the vocabulary the model was trained with.
            fold_language: refused: source and target are two languages.
            dtype: of the floating-point weights on disk.

        Raises:
            SettingsError: `fold_language` is given.
            DataError, CheckpointError: the folder holds other things or cannot be written, or the disk is full.
        """
        from interlace.models._seq2seq_files import export

        if fold_language is not None:
            message = "export.fold_language: a translation model reads one language and writes another"
            raise SettingsError(f"{message}; leave it out")
        return export(self, folder, vocab, dtype=dtype)

    def _languages(self, inputs: dict[str, Tensor]) -> Tensor | None:
        return inputs.get(self.decoder_language_input) if self.decoder_language_input else None

    def _must_fit(self, length: int) -> None:
        if length > self.longest_target:
            longest = self.longest_target
            raise SettingsError(f"a target of {length} subwords, but the decoder writes at most {longest}")
