"""What the model that is being trained makes of a batch's sentences in another language, without gradients.

Legend: B rows, L subwords of the longest source, T of the longest translation.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import nn

from interlace.models.decoding import ModelState, add_specials, eval_mode

if TYPE_CHECKING:
    from torch import Tensor

    from interlace.models.decoding import TokenConstraints
    from interlace.models.generation import SearchSettings


@dataclass(frozen=True)
class Order:
    """What is asked for.

    first: (B,) the token of the language to write. languages: (B,) its language id, or None where none is fed.
    limits: (B,) most subwords. rules: what may be chosen.
    search: how it is searched for; the best hypothesis is taken.
    """

    first: Tensor
    languages: Tensor | None
    limits: Tensor
    rules: TokenConstraints
    search: SearchSettings


@dataclass(frozen=True)
class Said:
    """What the model wrote.

    ids: (B, T) subwords, padded. lengths: (B,) how many of each row are real.
    """

    ids: Tensor
    lengths: Tensor

    def inputs(self, begin: int, end: int, pad: int, languages: tuple[str, Tensor] | None) -> dict[str, Tensor]:
        """What an encoder reads of it: `[begin] translation [end]`.

        languages: the name of the language input and (B,) the id of each row's language; None where none is fed.
        """
        inputs = add_specials(self.ids, self.lengths, begin, end, pad)
        if languages is not None:
            name, each = languages
            inputs[name] = each[:, None].expand_as(inputs["input_ids"]).contiguous()
        return inputs

    def copied(self, source: Tensor) -> Tensor:
        """(B,) the share of each row's subwords that stand in its source (B, L) too, each as often as there."""
        real = torch.arange(self.ids.shape[1], device=self.ids.device) < self.lengths[:, None]
        there = (self.ids[:, :, None] == source[:, None, :]).sum(dim=2)  # (B, T)
        so_far = (self.ids[:, :, None] == self.ids[:, None, :]).tril().sum(dim=2)  # itself among them
        return ((so_far <= there) & real).sum(dim=1) / self.lengths.clamp(min=1)


class Kept(nn.Module):
    """Translations that are used `uses` times, by a number of their batch; no weights, and nothing is saved.

    A checkpoint cannot hold what each process keeps for itself. So all of it is forgotten when one is written: a run
    that goes on from there makes it anew, and so does the one that went on by itself.
    """

    def __init__(self, uses: int) -> None:
        super().__init__()
        self._uses = uses
        self._kept: dict[int, tuple[Said, int]] = {}

    def of(self, key: int) -> Said | None:
        """What is kept under a number; with its last use it is gone."""
        if key not in self._kept:
            return None
        said, left = self._kept.pop(key)
        if left > 1:
            self._kept[key] = said, left - 1
        return said

    def keep(self, key: int, said: Said) -> None:
        """Keep what is used for the first time now."""
        if self._uses > 1:
            self._kept[key] = said, self._uses - 1

    def forget(self) -> None:
        """Keep nothing."""
        self._kept.clear()


def translated(model: Any, inputs: dict[str, Tensor], order: Order) -> Said:
    """What the model writes as it is, without dropout; its mode is as before when it returns."""
    with eval_mode(model), torch.no_grad():
        decoding = ModelState(model, model.start(model.encode(inputs), inputs.get("attention_mask")), order.languages)
        found = order.search.search(decoding, order.first, order.limits, order.rules)
    torch.clear_autocast_cache()  # weights that were cast without a gradient would be taken for the pass with one
    return Said(found.ids[:, 0], found.lengths[:, 0])
