"""Write translations: formats, files and standard output, and warnings."""

from __future__ import annotations

import json
import logging
import os
import sys
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING

from interlace.cli import notes, output
from interlace.cli.common.alignment import lines_to
from interlace.cli.common.progress import watching
from interlace.core.errors import DataError
from interlace.text.lines import lines_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from interlace.experiments.translation import LineRange, LineTranslator, Window
    from interlace.models.translator import LineTranslation

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Form:
    """Output format of translations.

    n_best: above 1, Moses' format `line ||| translation ||| score`, lines counted from 0.
    scores: score and tab before each translation. as_json: one JSON object per line.
    """

    n_best: int = 1
    scores: bool = False
    as_json: bool = False

    def rows(self, window: Window) -> list[str]:
        """Return the output lines of a window."""
        together = zip(window.lines, window.translations, strict=True)
        return [
            row
            for number, (line, translation) in enumerate(together, window.first)
            for row in self._rows(number, line, translation)
        ]

    def _rows(self, number: int, line: str, translation: LineTranslation) -> Iterator[str]:
        if self.as_json:
            found = [
                {"text": one.text, "score": round(one.score, 4), "logprob": round(one.logprob, 4), "length": one.length}
                for one in translation.hypotheses
            ]
            row = {"line": number + 1, "source": line, "translations": found, "pieces": translation.pieces}
            yield json.dumps(row, ensure_ascii=False)
        elif self.n_best > 1:
            for one in translation.hypotheses:
                yield f"{number} ||| {one.text} ||| {one.score:.4f}"
        elif self.scores:
            yield f"{translation.hypotheses[0].score:.4f}\t{translation.text}"
        else:
            yield translation.text


@dataclass(frozen=True)
class Work:
    """Translation of lines, window by window.

    window: lines per window. cut: whether lines longer than the model's maximum are translated in pieces.
    """

    interpreter: LineTranslator
    form: Form
    window: int
    cut: bool

    def stream(self, source: LineRange | None, into: Path | None) -> None:
        """Translate a file or standard input to a file (written atomically) or standard output (as translated)."""
        if source is None and into is not None and _is_standard_input(into):
            raise DataError(f"{into}: is also the input; write to another file")
        name = "standard input" if source is None else str(source.path)
        lines: Iterable[str] = lines_of(sys.stdin.buffer, name) if source is None else source
        first, total = (0, 0) if source is None else (source.first, len(source))
        done, counts = 0, dict[str, int]()
        seen = into is not None or not sys.stdout.isatty()  # a bar would be drawn between lines on a terminal
        with lines_to(into) as write, watching() if seen else nullcontext(None) as watch:
            for window in self._windows(lines, name, first):
                write(self.form.rows(window))
                if into is None:
                    sys.stdout.buffer.flush()
                counts = {key: counts.get(key, 0) + count for key, count in window.counts().items()}
                done += len(window)
                if watch is not None:
                    watch("translating", done, total)
        self._tell(done, counts)
        if into is not None:
            output.print(str(into), soft_wrap=True, highlight=False)

    def file(self, source: LineRange, into: Path) -> None:
        """Translate file to file; rerunning the same command resumes."""
        from interlace.experiments.resumable import resumable

        key = {
            **self.interpreter.key(),
            "form": [self.form.n_best, self.form.scores, self.form.as_json],
            "cut": self.cut,
        }
        with saying(), resumable(source, into, key) as result, watching() as watch:
            for window in self._windows(result.lines, str(source.path), source.first + result.done):
                result.write(window.lines, self.form.rows(window), window.counts())
                watch("translating", result.done, len(source))
        self._tell(result.done, result.counts)
        output.print(str(into), soft_wrap=True, highlight=False)

    def _windows(self, lines: Iterable[str], name: str, first: int = 0) -> Iterator[Window]:
        from interlace.models.translator import LongLineError

        try:
            yield from self.interpreter.windows(lines, self.window, first, cut=self.cut)
        except LongLineError as error:
            raise DataError(f"{name}, {error}; --long cut translates it in pieces") from None

    def _tell(self, lines: int, counts: Mapping[str, int]) -> None:
        """Log warnings about long lines, unknown characters and cut translations."""
        if pieces := counts.get("pieces", 0):
            message = "%s of %s lines exceed the maximum length and were translated in pieces"
            log.warning(message, f"{pieces:,}", f"{lines:,}")
        if unknown := counts.get("unknown", 0):
            message = "%s of %s lines contain characters that are not in the vocabulary, read as unknown tokens"
            log.warning(message, f"{unknown:,}", f"{lines:,}")
        if full := counts.get("full", 0):
            message = "%s of %s translations reached the maximum length and may be cut: see --set max_ratio=3%s"
            clipped = f" (the model generates at most {self.interpreter.translator.max_target:,} tokens)"
            log.warning(message, f"{full:,}", f"{lines:,}", clipped)


def _is_standard_input(path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(sys.stdin.fileno()), path.stat())
    except (OSError, ValueError):  # no such file, or standard input has no descriptor
        return False


@contextmanager
def saying() -> Iterator[None]:
    """Print a hint to resume on Ctrl-C."""
    try:
        yield
    except KeyboardInterrupt:  # Typer exits with code 130 silently
        notes.print("stopped; rerun the same command to resume", highlight=False)
        raise
