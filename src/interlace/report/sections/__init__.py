"""Registry of report sections: a module has a function of its own name, which takes runs and returns their sections."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from interlace.core.registry import Registry
from interlace.report.runs import Run
from interlace.report.svg import Drawing
from interlace.report.text import render


@dataclass(frozen=True)
class Section:
    """A section of the page: a title, a sentence or two on what it shows, and safe HTML.

    figures: the drawings in the body, which are also written as files. folded: whether readers open it first.
    """

    title: str
    lead: str
    body: Markup
    figures: Sequence[Drawing] = ()
    folded: bool = False

    @property
    def anchor(self) -> str:
        """The name of the section in links and in the names of figure files."""
        return re.sub(r"[^a-z0-9]+", "-", self.title.lower()).strip("-")


SECTIONS: Registry[list[Section]] = Registry(__name__, "report section")

ORDER = ("scores", "analysis", "word_maps", "training", "examples", "setup")
"""Results first, then explanations, training, and how to reproduce the page; plugins come last, by name."""


def sections_of(runs: Sequence[Run]) -> list[Section]:
    """Return the sections of the page."""
    names = [*ORDER, *(name for name in SECTIONS.names() if name not in ORDER)]
    return [section for name in names for section in SECTIONS.get(name)(runs)]


def figure_section(title: str, lead: str, figures: Sequence[tuple[str, Drawing]], note: str = "") -> list[Section]:
    """Return a section of drawings with captions above them; none without drawings."""
    if not figures:
        return []
    body = render("figures", figures=figures, note=note)
    return [Section(title, lead, body, [drawing for _, drawing in figures])]
