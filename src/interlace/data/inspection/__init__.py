"""Looking text over before it is trained on: what was found, how often, and where.

`files` reads bytes, `rows` lines and pairs, `leaks` held-out text beside training text. Everything streams in chunks:
memory holds a chunk, and eight bytes a line to find duplicates by.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Iterable

Level = Literal["error", "warning", "note"]
"""An error makes a build fail; a warning is worth a look; a note says what is dealt with or too rare to matter."""

SHOWN = 3  # examples kept of each finding
_EXCERPT = 80  # characters of an example

Watch = Callable[[str, int, int], None]
"""Told what is looked at, how much of it is done, and how much there is (0: not known)."""


def no_progress(_what: str, _done: int, _total: int) -> None:
    """Nobody looks on."""


@dataclass(frozen=True)
class Example:
    """One place where something was found: `where` is `"train.en:12"` or `"pair 12"`."""

    where: str
    text: str

    @classmethod
    def of(cls, where: str, *texts: str) -> Example:
        """An excerpt with control characters made visible; several texts are the sides of a pair."""
        return cls(where, " | ".join(_visible(text) for text in texts))


@dataclass(frozen=True)
class Finding:
    """One kind of thing found.

    what: a few words, such as `"duplicates"`. count: how many lines or pairs, of `total`. about: what it does, and how
    to mend it.
    """

    level: Level
    what: str
    count: int
    total: int
    about: str
    examples: tuple[Example, ...] = ()


@dataclass
class Report:
    """What is to be said about one file, or about a corpus and its files.

    facts: counts by name; those of a side stand under its language.
    """

    name: str
    facts: dict[str, Any] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)

    @property
    def failed(self) -> bool:
        """Whether a corpus could not be built from this."""
        return any(finding.level == "error" for finding in self.findings)

    def dump(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return asdict(self)


class Examples:
    """Keeps the first few of many."""

    def __init__(self) -> None:
        self.count = 0
        self.kept: list[Example] = []

    def add(self, count: int, some: Iterable[Callable[[], Example]]) -> None:
        """Count `count` more; of `some`, as many are made and kept as are still wanted."""
        self.count += count
        for make in some:
            if len(self.kept) >= SHOWN:
                break
            self.kept.append(make())


def rare(count: int, total: int) -> Level:
    """A warning, or a note for what is less than one in a thousand."""
    return "warning" if count * 1000 >= total else "note"


def _visible(text: str) -> str:
    cut = text if len(text) <= _EXCERPT else text[: _EXCERPT - 1] + "…"
    return "".join(char if char.isprintable() else f"\\x{ord(char):02x}" for char in cut)
