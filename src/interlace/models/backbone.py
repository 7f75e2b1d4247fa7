"""The backbone: a thin module around a transformers masked language model, with its head kept apart from its encoder.

Legend: B rows, L subwords of the longest row, H width, N predictions, V vocabulary.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from interlace.core.errors import SettingsError
from interlace.models._causal import reading
from interlace.models.families import family_of, traits_of

if TYPE_CHECKING:
    from pathlib import Path

    from interlace.data.vocab import Vocab
    from interlace.models.traits import Traits


class Backbone(nn.Module):
    """An encoder with a vocabulary head that is applied only where something is predicted.

    model: a transformers model with a masked-language-model head.
    carried: weights of the original checkpoint that this model has no place for (a pooler), written back at export.
    notes: what a person should know about how it was made.
    begun: plain data on what its weights began as, beyond what settings say; for the records of a run.
    causal: whether it reads from left to right where a call does not say, and is exported as a causal model.
    fresh_head: whether weights of its vocabulary head were drawn by chance, so that it predicts nothing yet.
    """

    def __init__(
        self,
        model: Any,
        carried: dict[str, Tensor] | None = None,
        notes: tuple[str, ...] = (),
        *,
        causal: bool = False,
        fresh_head: bool = False,
    ) -> None:
        super().__init__()
        self.model = model
        self.family = family_of(model.config)
        self.traits: Traits = traits_of(model.config)
        self.carried = carried or {}
        self.notes = notes
        self.begun: dict[str, Any] = {}
        self.causal = causal
        self.fresh_head = fresh_head

    def encode(self, inputs: dict[str, Tensor], *, causal: bool | None = None) -> Tensor:
        """(B, L, H) states of the last layer; the vocabulary head is not run.

        Args:
            inputs: `input_ids` (B, L) and, where wanted, `attention_mask`, `position_ids` and the language input that
                `traits` names, all (B, L). Without a mask attention runs without one, which is faster.
            causal: whether a subword sees only itself and those before it; none: as the backbone is. Rows must then be
                padded on the right.

        Raises:
            SettingsError: an input that this family would silently ignore or misread, or a row that is too long.
        """
        states: Tensor = self._encoder(inputs, causal=causal).last_hidden_state
        return states

    def hidden_states(self, inputs: dict[str, Tensor], *, causal: bool | None = None) -> tuple[Tensor, ...]:
        """(B, L, H) states after the embeddings and after each layer, the last of them equal to `encode`'s."""
        return tuple(self._encoder(inputs, causal=causal, output_hidden_states=True).hidden_states)

    def logits(self, states: Tensor) -> Tensor:
        """(N, V) scores of the vocabulary from (N, H) states, by the checkpoint's own whole head."""
        return self.family.logits(self.model, states)

    @property
    def table(self) -> Tensor:
        """(V, H) the input embeddings."""
        weight: Tensor = self.model.get_input_embeddings().weight
        return weight

    @property
    def language_table(self) -> Tensor:
        """(L, H) the language embeddings, a row an id of `traits.languages`; (0, H) where the model has none."""
        found = self.family.language_embedding(self.model)
        return self.table.new_zeros(0, self.width) if found is None else found.weight

    @property
    def vocab_size(self) -> int:
        """Rows of the table; may exceed the tokenizer's where a checkpoint was padded."""
        return int(self.table.shape[0])

    @property
    def width(self) -> int:
        """H."""
        return int(self.table.shape[1])

    @property
    def device(self) -> torch.device:
        """Where the weights are."""
        return self.table.device

    def save_pretrained(
        self,
        folder: Path,
        vocab: Vocab,
        *,
        fold_language: str | None = None,
        dtype: torch.dtype = torch.float32,
    ) -> Path:
        """Write an ordinary checkpoint with its tokenizer, which plain transformers opens; whole or not at all.

        Args:
            folder: where; a checkpoint that stands there is replaced, anything else is refused.
            vocab: the vocabulary the model was trained with.
            fold_language: the language a caller gets who passes no language ids.
            dtype: of the floating-point weights on disk.

        Raises:
            SettingsError: the model has no embedding for `fold_language`.
            DataError, CheckpointError: the folder holds other things or cannot be written, or the disk is full.
        """
        from interlace.models._export import export

        return export(self, folder, vocab, fold_language=fold_language, dtype=dtype)

    def _encoder(self, inputs: dict[str, Tensor], causal: bool | None, **options: Any) -> Any:
        foreign = set(inputs) - {"input_ids", "attention_mask", "position_ids", self.traits.language_input}
        if foreign:
            name = min(foreign)
            raise SettingsError(f"{self.traits.family} models cannot read {name!r}; they would ignore or misread it")
        length, longest = inputs["input_ids"].shape[1], self.traits.max_length
        if length > longest:
            raise SettingsError(f"a row of {length} subwords, but the model reads at most {longest}; lower max_length")
        given = reading(self.model, self.family, inputs, causal=self.causal if causal is None else causal)
        return self.model.base_model(**given, **options, return_dict=True)
