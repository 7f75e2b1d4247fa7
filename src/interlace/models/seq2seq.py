"""The encoder-decoder: a backbone that reads, and a decoder that writes what comes of it.

It stands wherever a `Backbone` does: `encode`, `table`, `traits` are the encoder's, and `logits` is the decoder's head,
which the encoder shares where both are of one family. So one model learns by `translation` and `mlm` in turn, in the
same loop, and an encoder task reads its encoder.

The target language is the first subword that the decoder reads (`Vocab.target`); with language embeddings, every
subword has its vector besides.

Legend: B rows, L subwords of the longest source, T of the longest target, H width, N predictions, R rows of a search,
V vocabulary.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from interlace.errors import SettingsError
from interlace.models.languages import known

if TYPE_CHECKING:
    from pathlib import Path

    from interlace.data.vocab import Vocab
    from interlace.models._crossed import Crossed
    from interlace.models._memory import Memory
    from interlace.models.backbone import Backbone
    from interlace.models.families import Family
    from interlace.models.traits import Traits


class Seq2Seq(nn.Module):
    """A backbone and a decoder of the same width and vocabulary.

    encoder: the backbone, whole.
    decoder: its layers with cross-attention, and the vocabulary head.
    shared: whether both sides read one table of subwords.
    notes: what a person should know about how it was made.
    causal: False; what `encode` does where a call does not say.
    """

    causal = False

    def __init__(self, encoder: Backbone, decoder: Crossed, notes: tuple[str, ...] = ()) -> None:
        super().__init__()
        self.encoder = encoder
        self.decoder = decoder
        self.notes = (*encoder.notes, *notes)
        longest = int(decoder.config.max_position_embeddings) - decoder.family.first_position(decoder.config)
        self.longest_target = longest
        self.traits: Traits = replace(encoder.traits, max_length=min(encoder.traits.max_length, longest))
        self.decoder_languages: dict[str, int] = known(decoder.config)
        self.decoder_language_input = decoder.family.language_input if self.decoder_languages else None

    @property
    def shared(self) -> bool:
        """Whether both sides read one table of subwords."""
        return self.decoder.model.get_input_embeddings().weight is self.encoder.table

    @property
    def model(self) -> Any:
        """The encoder's transformers model."""
        return self.encoder.model

    @property
    def family(self) -> Family:
        """The encoder's."""
        return self.encoder.family

    @property
    def carried(self) -> dict[str, Tensor]:
        """Weights of the encoder's checkpoint that this model has no place for."""
        return self.encoder.carried

    @property
    def table(self) -> Tensor:
        """(V, H) the encoder's input embeddings."""
        return self.encoder.table

    @property
    def vocab_size(self) -> int:
        """V, rows of the table."""
        return self.encoder.vocab_size

    @property
    def width(self) -> int:
        """H."""
        return self.encoder.width

    @property
    def device(self) -> torch.device:
        """Where the weights are."""
        return self.encoder.device

    def encode(self, inputs: dict[str, Tensor], *, causal: bool | None = None) -> Tensor:
        """(B, L, H) states of the encoder; see `Backbone.encode`."""
        return self.encoder.encode(inputs, causal=causal)

    def hidden_states(self, inputs: dict[str, Tensor], *, causal: bool | None = None) -> tuple[Tensor, ...]:
        """(B, L, H) states of the encoder after the embeddings and after each layer."""
        return self.encoder.hidden_states(inputs, causal=causal)

    def decode(self, states: Tensor, mask: Tensor | None, inputs: dict[str, Tensor]) -> Tensor:
        """(B, T, H) states from which `logits` tells what comes next, each subword seeing those before it.

        Args:
            states: (B, L, H) of the encoder.
            mask: (B, L) true (or 1) where they are real; none: all are.
            inputs: `input_ids` (B, T), padded on the right, and the language input of `decoder_language_input` (B, T).

        Raises:
            SettingsError: an input that the decoder would ignore, or a row that is too long.
        """
        foreign = set(inputs) - {"input_ids", self.decoder_language_input}
        if foreign:
            raise SettingsError(f"this {self.decoder.family.name} decoder cannot read {min(foreign)!r}")
        self._must_fit(inputs["input_ids"].shape[1])
        states_: Tensor = self.decoder(states, mask, inputs["input_ids"], self._languages(inputs))
        return states_

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
