"""Translate a batch with the model that is being trained, without gradients.

Legend: B sequences, L tokens of the longest source, T of the longest translation.
"""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from interlace.models.search import ModelState, TokenConstraints, add_specials, eval_mode, greedy_search


@dataclass(frozen=True)
class OnlineTranslations:
    """Generated translations: `ids` (B, T) padded, `lengths` (B,)."""

    ids: Tensor
    lengths: Tensor

    def encoder_inputs(self, begin: int, end: int, pad: int, languages: tuple[str, Tensor] | None) -> dict[str, Tensor]:
        """Return `[begin] translation [end]` as encoder inputs.

        languages: name of the language id input and (B,) the id of each sequence's language; None: not fed.
        """
        inputs = add_specials(self.ids, self.lengths, begin, end, pad)
        if languages is not None:
            name, each = languages
            inputs[name] = each[:, None].expand_as(inputs["input_ids"]).contiguous()
        return inputs

    def copied_share(self, source: Tensor) -> Tensor:
        """Return (B,) the share of tokens that also occur in the source (B, L), each as often as there."""
        real = torch.arange(self.ids.shape[1], device=self.ids.device) < self.lengths[:, None]
        in_source = (self.ids[:, :, None] == source[:, None, :]).sum(dim=2)  # (B, T)
        so_far = (self.ids[:, :, None] == self.ids[:, None, :]).tril().sum(dim=2)  # the token itself included
        return ((so_far <= in_source) & real).sum(dim=1) / self.lengths.clamp(min=1)


def translate_online(
    model: Any,
    inputs: dict[str, Tensor],
    rules: TokenConstraints,
    *,
    first: Tensor,
    languages: Tensor | None,
    limits: Tensor,
) -> OnlineTranslations:
    """Return the model's greedy translations, without dropout; the model's mode is restored.

    first: (B,) target language tokens. languages: (B,) target language ids, or None if none are fed. limits: (B,)
        maximum lengths.
    """
    with eval_mode(model), torch.no_grad():
        decoding = ModelState(model, model.start(model.encode(inputs), inputs.get("attention_mask")), languages)
        found = greedy_search(decoding, first, limits, rules)
    torch.clear_autocast_cache()  # weights cast without gradients must not be reused in the pass with gradients
    return OnlineTranslations(found.ids[:, 0], found.lengths[:, 0])
