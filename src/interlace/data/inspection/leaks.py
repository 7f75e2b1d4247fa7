"""Held-out text that also stands in training text: findings about dev and test sets, for `interlace check`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from interlace.data.inspection import Finding
from interlace.data.overlap import Overlap, TestSet

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from interlace.data.overlap import Leak
    from interlace.text import Text


class Leaks:
    """All held-out sets beside all training text; memory grows with the first and not with the second."""

    def __init__(self) -> None:
        self._overlap = Overlap()
        self._waiting: dict[tuple[str, str], list[str]] = {}
        self._tests: set[str] = set()
        self.sets = 0

    def hold_out(self, name: str, text: Text) -> None:
        """Lines of the set of this name, and language, that should not be trained on."""
        self._waiting.setdefault((name, text.language), []).extend(text.lines)

    def hold_out_test(self, held: TestSet) -> None:
        """A test set: words in a row are looked for too. Held-out text of a corpus is like it by nature."""
        self._overlap.hold_out(held)
        self._tests.add(held.name)
        self.sets += 1

    def close(self) -> None:
        """All sets are there; training text may come."""
        for (name, language), lines in self._waiting.items():
            self._overlap.hold_out(TestSet(name, language, {"text": lines}))
            self.sets += 1
        self._overlap.close()

    def meet(self, text: Text, where: Callable[[int], str]) -> None:
        """A chunk of training text; `where` names the place of each line."""
        self._overlap.meet(text, where)

    def findings(self) -> list[Finding]:
        """Those of each set of which something was met."""
        return [finding for leak in self._overlap.leaks() for finding in self._of(leak)]

    def _of(self, leak: Leak) -> Iterator[Finding]:
        name, more = f"{leak.name} ({leak.language})", leak.grams - leak.exact
        if leak.exact:
            about = f"examples of {name} that are in training text too"
            yield Finding("warning", "leak", leak.exact, leak.total, about, leak.examples)
        if more and leak.name in self._tests:
            about = f"more examples of {name} of which {leak.n} words or characters in a row are in training text"
            yield Finding("note", "overlap", more, leak.total, about, () if leak.exact else leak.examples)
