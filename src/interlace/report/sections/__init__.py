"""Registry of report sections: a module has a function of its own name, which takes runs and returns its sections.

Sections without a body are left out of the page.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from markupsafe import Markup

from interlace.core.registry import Registry
from interlace.report.text import render

if TYPE_CHECKING:
    from collections.abc import Sequence

    from interlace.report.runs import Run
    from interlace.report.svg import Drawing


@dataclass(frozen=True)
class Section:
    """A section of the page: a title, a sentence or two on what it shows, and safe HTML.

    figures: the drawings in the body, which are also written as files.
    """

    title: str
    lead: str
    body: Markup = field(default_factory=Markup)
    figures: Sequence[Drawing] = ()

    @property
    def anchor(self) -> str:
        """The name of the section in links and in the names of figure files."""
        return re.sub(r"[^a-z0-9]+", "-", self.title.lower()).strip("-")


SECTIONS: Registry[Section] = Registry(__name__, "report section")

ORDER = (
    "scores",
    "translation",
    "published",
    "derived",
    "data_size",
    "word_maps",
    "training",
    "predictions",
    "inputs",
    "setup",
)
"""Results first, then explanations, training, and how to reproduce the page."""


def section_names() -> list[str]:
    """Return the names of all modules in the order of the page; plugins come last, by name."""
    names = SECTIONS.names()
    return [name for name in ORDER if name in names] + [name for name in names if name not in ORDER]


def sections_of(runs: Sequence[Run]) -> list[Section]:
    """Return the sections of the page that have a body."""
    found: list[Section] = []
    for name in section_names():
        made = SECTIONS.get(name)(runs)
        found += [made] if isinstance(made, Section) else made
    return [section for section in found if section.body.strip()]


def figure_section(title: str, lead: str, figures: Sequence[tuple[str, Drawing]], note: str = "") -> Section:
    """Return a section of drawings with captions above them; without drawings its body is empty."""
    if not figures:
        return Section(title, lead)
    body = render("figures", figures=figures, note=note)
    return Section(title, lead, body, [drawing for _, drawing in figures])
