"""Alignments read from files in any format of `interlace.alignment.formats`: Pharaoh, TALP, WPT, JSON lines."""

import logging
from typing import Literal

from pydantic import Field

from interlace.aligners import Aligner, FittedAligner, StoredAlignments
from interlace.aligners.common.inputs import check_usable
from interlace.alignment import Heuristic, WordPairs
from interlace.alignment.formats import read_alignments
from interlace.alignment.lexicon import Lexicon
from interlace.alignment.symmetrization import symmetrize
from interlace.core.errors import SettingsError
from interlace.core.files import user_path
from interlace.core.progress import Progress
from interlace.core.ragged import Ragged

log = logging.getLogger(__name__)


class Pharaoh(Aligner):
    """Reads alignments from one file, or from one per direction."""

    can_save = False
    files = ("links", "backward")

    links: str = Field(
        "",
        description="The alignment file, plain or gzip, a row per pair; with `backward`: the direction with one link "
        "per target word (`fast_align` without -r).",
    )
    backward: str = Field(
        "",
        description="The file of the other direction, with one link per source word (`fast_align -r`), source index "
        "first.",
    )
    symmetrization: Heuristic = Field(
        "grow-diag-final-and", description="Heuristic that combines both directions."
    )
    format: Literal["auto", "pharaoh", "talp", "wpt", "jsonl"] = Field(
        "auto", description="Format of the files; 'auto': detected from their first line."
    )
    base: Literal[0, 1] | None = Field(
        None,
        description="Index of the first word in the files; none: detected from links and text.",
    )

    def fit(
        self,
        pairs: WordPairs,
        priors: Lexicon | None = None,
        progress: Progress | None = None,  # noqa: ARG002
    ) -> FittedAligner:
        """Read the files of links, which must be those of the pairs; priors are not used."""
        check_usable(pairs, self.name)
        if not self.links:
            raise SettingsError("pharaoh: set `links` to the alignment file of this text")
        if priors is not None:
            log.warning("pharaoh: word translations are not used; ignoring the priors")
        links = self._read(self.links, pairs)
        if self.backward:
            links = symmetrize(links, self._read(self.backward, pairs), self.symmetrization)
        return StoredAlignments.of(self, pairs, links)

    def _read(self, file: str, pairs: WordPairs) -> Ragged:
        """Return the links of a file; log how it was read."""
        path = user_path(file)
        kind = None if self.format == "auto" else self.format
        lengths = (pairs.source.lengths, pairs.target.lengths)
        alignments = read_alignments(path, lengths, base=self.base, kind=kind)
        for note, count in alignments.notes.items():
            log.warning("%s: %d %s", path, count, note)
        return alignments.possible
