"""Room of word splitters: what counts as a word, as character spans on the unchanged line."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

from interlace.registry import Room
from interlace.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from interlace.ragged import Ragged


class Splitter(Settings, ABC):
    """Finds words. Spans are in order, disjoint, never empty and never hold white space at their ends."""

    @property
    def name(self) -> str:
        """The public name: that of the member's file."""
        return type(self).__module__.rsplit(".", 1)[-1].removeprefix("interlace_guest_")

    @abstractmethod
    def split(self, lines: Sequence[str]) -> Ragged:
        """A row a line of (start, end) character spans, shape (total, 2) int32."""


SPLITTERS: Room[Splitter] = Room(__name__, "word splitter", Splitter)
