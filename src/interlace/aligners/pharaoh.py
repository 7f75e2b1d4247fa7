"""Links made elsewhere, read from files: Pharaoh, GIZA++ and whatever else `interlace.alignment.formats` reads.

So fast_align, awesome-align, GIZA++ or people can have made them, on another machine or at another time.
"""

from __future__ import annotations

import logging
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np
from pydantic import Field

from interlace.aligners import Aligner, FittedAligner
from interlace.aligners._stored import Stored
from interlace.aligners._usable import check_usable
from interlace.alignment.formats import read_alignments
from interlace.alignment.links import reverse_links
from interlace.alignment.symmetrization import Heuristic, symmetrize
from interlace.core.errors import SettingsError

if TYPE_CHECKING:
    from interlace.alignment import WordPairs
    from interlace.alignment.lexicon import Lexicon
    from interlace.core.progress import Progress
    from interlace.core.ragged import Ragged

log = logging.getLogger(__name__)


class Pharaoh(Aligner):
    """Links from one file, or from one of each direction."""

    can_save: ClassVar[bool] = False
    files: ClassVar[tuple[str, ...]] = ("links", "backward")

    links: str = Field(
        "",
        description="The file of links, plain or gzip, a row a pair; with `backward`: what each target word chose "
        "(`fast_align` without -r).",
    )
    backward: str = Field(
        "",
        description="The file of the other direction: what each source word chose (`fast_align -r`), also written "
        "source first; GIZA++ files are turned round as the lengths of the text ask.",
    )
    symmetrization: Heuristic = Field("grow-diag-final-and", description="How links of both directions become one set.")
    format: Literal["auto", "pharaoh", "talp", "wpt", "jsonl", "giza"] = Field(
        "auto", description="What the files hold; 'auto': as their first lines look."
    )
    base: Literal[0, 1] | None = Field(
        None, description="From what the files count words; none: found out from the links and the text."
    )

    def fit(self, pairs: WordPairs, priors: Lexicon | None = None, progress: Progress | None = None) -> FittedAligner:  # noqa: ARG002
        """Read the files; priors are not used.

        Raises:
            SettingsError: no file is named.
            DataError: a file is missing, damaged or has other rows than the text, or no pair has words on both sides.
        """
        check_usable(pairs, self.name)
        if not self.links:
            raise SettingsError("pharaoh: name the file with the links of this text: set `links`")
        if priors is not None:
            log.warning("pharaoh: links are only read, so word translations are of no use; the priors are left out")
        links, _ = self._read(self.links, pairs)
        if self.backward:
            back, kind = self._read(self.backward, pairs)
            if kind == "giza" and np.array_equal(pairs.source.lengths, pairs.target.lengths):
                back = reverse_links(back)  # it has the target first, which lengths cannot tell here
            links = symmetrize(links, back, self.symmetrization)
        return Stored.of(self, pairs, links)

    def _read(self, file: str, pairs: WordPairs) -> tuple[Ragged, str]:
        """The links of a file, and its format."""
        path = Path(file).expanduser()
        kind = None if self.format == "auto" else self.format
        found = read_alignments(path, (pairs.source.lengths, pairs.target.lengths), base=self.base, kind=kind)
        for note, count in found.notes.items():
            log.warning("%s: %d %s", path, count, note)
        return found.possible, found.format
