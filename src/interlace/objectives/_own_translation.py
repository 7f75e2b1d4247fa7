"""What the model that is being trained makes of a batch's sentences in another language, without gradients.

Legend: B rows, L subwords of the longest source, T of the longest translation.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import nn

from interlace.models.search.greedy import greedy
from interlace.models.search.reading import Reading, evaluating
from interlace.models.search.sampled import draws_of, sampled

if TYPE_CHECKING:
    from torch import Tensor

    from interlace.models.search import Rules


@dataclass(frozen=True)
class Order:
    """What is asked for.

    first: (B,) the token of the language to write. languages: (B,) its language id, or None where none is fed.
    limits: (B,) most subwords. rules: what may be chosen.
    sampled: draw subwords instead of taking the likeliest. temperature, top: of the draw.
    """

    first: Tensor
    languages: Tensor | None
    limits: Tensor
    rules: Rules
    sampled: bool = False
    temperature: float = 1.0
    top: int = 0


@dataclass(frozen=True)
class Translation:
    """ids: (B, T) subwords, padded. lengths: (B,) how many of each row are real."""

    ids: Tensor
    lengths: Tensor

    def inputs(self, begin: int, end: int, pad: int, languages: tuple[str, Tensor] | None) -> dict[str, Tensor]:
        """What an encoder reads of it: `[begin] translation [end]`.

        languages: the name of the language input and (B,) the id of each row's language; None where none is fed.
        """
        rows, width = self.ids.shape
        ids = self.ids.new_full((rows, width + 2), pad)
        ids[:, 0] = begin
        ids[:, 1:-1] = self.ids
        ids[torch.arange(rows, device=ids.device), self.lengths + 1] = end
        inputs = {"input_ids": ids}
        real = torch.arange(width + 2, device=ids.device) < (self.lengths + 2)[:, None]
        if not bool(real.all()):
            inputs["attention_mask"] = real.long()
        if languages is not None:
            name, each = languages
            inputs[name] = each[:, None].expand_as(ids).contiguous()
        return inputs

    def copied(self, source: Tensor) -> Tensor:
        """(B,) the share of each row's subwords that stand in its source (B, L) too."""
        real = torch.arange(self.ids.shape[1], device=self.ids.device) < self.lengths[:, None]
        there = (self.ids[:, :, None] == source[:, None, :]).any(dim=2) & real
        return there.sum(dim=1) / self.lengths.clamp(min=1)


class Kept(nn.Module):
    """Translations that are used `uses` times, by a number of their batch; no weights, and nothing is saved.

    A checkpoint cannot hold what each process keeps for itself. So all of it is forgotten when one is written: a run
    that goes on from there makes it anew, and so does the one that went on by itself.
    """

    def __init__(self, uses: int) -> None:
        super().__init__()
        self._uses = uses
        self._kept: dict[int, tuple[Translation, int]] = {}

    def of(self, key: int) -> Translation | None:
        """What is kept under a number; with its last use it is gone."""
        if key not in self._kept:
            return None
        translation, left = self._kept.pop(key)
        if left > 1:
            self._kept[key] = translation, left - 1
        return translation

    def keep(self, key: int, translation: Translation) -> None:
        """Keep what is used for the first time now."""
        if self._uses > 1:
            self._kept[key] = translation, self._uses - 1

    def forget(self) -> None:
        """Keep nothing."""
        self._kept.clear()


def translated(model: Any, inputs: dict[str, Tensor], order: Order) -> Translation:
    """What the model writes as it is, without dropout; its mode is as before when it returns."""
    with evaluating(model), torch.no_grad():
        decoding = Reading(model, model.start(model.encode(inputs), inputs.get("attention_mask")), order.languages)
        if order.sampled:
            found = sampled(
                decoding, order.first, order.limits, order.rules, draws_of(order.limits),
                temperature=order.temperature, top=order.top,
            )  # fmt: skip
        else:
            found = greedy(decoding, order.first, order.limits, order.rules)
    torch.clear_autocast_cache()  # weights that were cast without a gradient would be taken for the pass with one
    return Translation(found.ids[:, 0], found.lengths[:, 0])
