"""The sections of the report page: results, explanations, training, and settings."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from interlace.report.svg import Drawing


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
