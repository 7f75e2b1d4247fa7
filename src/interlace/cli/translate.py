"""Translate text with a trained run."""

from __future__ import annotations

import json
import logging
import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from interlace.cli import Code, load_plugins, print_line
from interlace.cli.common.options import Batch, Force, Precision, ShardOfText, Tokens, parse_changes
from interlace.cli.common.output import lines_to
from interlace.cli.common.progress import resume_hint, watching
from interlace.core.errors import DataError, SettingsError
from interlace.text.lines import lines_of

if TYPE_CHECKING:
    from interlace.experiments.translation import LineRange, LineTranslator, Window
    from interlace.models.settings import SearchSettings
    from interlace.models.translator import LineTranslation

log = logging.getLogger(__name__)
WINDOW = 2000


_Runs = Annotated[
    list[str], typer.Argument(metavar="RUN", help="Finished runs or model folders; several form an ensemble.")
]
_From = Annotated[str, typer.Option("--from", metavar="LANGUAGE", help="Source language.")]
_To = Annotated[str, typer.Option("--to", metavar="LANGUAGE", help="Target language.")]
_Input = Annotated[Path | None, typer.Option("--input", help="Input file, gzip by suffix. Default: standard input.")]
_Into = Annotated[
    Path | None,
    typer.Option("--output", "-o", help="Output file, gzip by suffix; with --input, rerunning resumes."),
]
_Beam = Annotated[int | None, typer.Option("--beam", min=1, help="Beam size (5); 1: greedy.")]
_Penalty = Annotated[
    float | None,
    typer.Option(
        "--length-penalty",
        help="Exponent of the length normalization (1); larger prefers longer translations, 0: none.",
    ),
]
_NBest = Annotated[
    int | None,
    typer.Option("--n-best", min=1, help="Translations per line, as `line ||| translation ||| score`."),
]
_Sets = Annotated[
    list[str],
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help="Search settings: stop, penalty, max_ratio, max_extra, allow_unk, sample, temperature, top_k, seed.",
    ),
]
_Scores = Annotated[bool, typer.Option("--scores", help="Write score and tab before each translation.")]
_Window = Annotated[
    int | None,
    typer.Option("--window", min=1, help="Lines per window, read before translating (2000; at a terminal 1)."),
]
_Long = Annotated[
    Literal["cut", "refuse"],
    typer.Option("--long", help="Lines above the maximum length: translate in pieces, or refuse."),
]
_AsJson = Annotated[bool, typer.Option("--json", help="Write one JSON object per line.")]


def translate(
    runs: _Runs,
    source: _From = "",
    target: _To = "",
    input_: _Input = None,
    into: _Into = None,
    beam: _Beam = None,
    length_penalty: _Penalty = None,
    n_best: _NBest = None,
    sets: _Sets = [],
    scores: _Scores = False,
    window: _Window = None,
    batch: Batch = None,
    tokens: Tokens = None,
    long: _Long = "cut",
    precision: Precision = "no",
    shard: ShardOfText = "1/1",
    force: Force = False,
    code: Code = [],
    as_json: _AsJson = False,
) -> None:
    """Translate text line by line: interlace translate RUN --from en --to de < in > out."""
    load_plugins(code)
    from interlace.experiments.translation import LineTranslator, Shard, check_direction

    taken = Shard.read(shard)
    if taken.of > 1 and input_ is None:
        raise SettingsError("--shard needs the number of lines; name a file: --input FILE")
    search = _search({"beam": beam, "length_penalty": length_penalty, "n_best": n_best}, sets)
    check_direction(runs, source, target)
    text = None if input_ is None else taken.lines_of(input_)
    interpreter = LineTranslator(
        runs, source, target, search, force=force, rows=batch, tokens=tokens, precision=precision
    )
    size = window or (1 if input_ is None and sys.stdin.isatty() else WINDOW)
    work = _Work(interpreter, _Form(search.n_best, scores, as_json), size, long == "cut")
    if text is not None and into is not None:
        work.file(text, into)
    else:
        work.stream(text, into)


def _search(options: dict[str, Any], sets: list[str]) -> SearchSettings:
    """Build the search settings from the options; errors name options."""
    from interlace.models.settings import SearchSettings

    given = {key: value for key, value in options.items() if value is not None}
    changes = parse_changes(sets, "KEY=VALUE, such as max_ratio=2")
    for key in changes:
        if given.get(key) is not None:
            raise SettingsError(f"--set {key}: --{key.replace('_', '-')} sets the same; give one of them")
    return SearchSettings.read(given | changes, "translate")


@dataclass(frozen=True)
class _Form:
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
class _Work:
    """Translation of lines, window by window.

    window: lines per window. cut: whether lines longer than the model's maximum are translated in pieces.
    """

    interpreter: LineTranslator
    form: _Form
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
        self._warn(done, counts)
        if into is not None:
            print_line(into)

    def file(self, source: LineRange, into: Path) -> None:
        """Translate file to file; rerunning the same command resumes."""
        from interlace.experiments.translation import resumable

        form = [self.form.n_best, self.form.scores, self.form.as_json]
        key = {**self.interpreter.key(), "form": form, "cut": self.cut}
        with resume_hint(), resumable(source, into, key) as result, watching() as watch:
            for window in self._windows(result.lines, str(source.path), source.first + result.done):
                result.write(window.lines, self.form.rows(window), window.counts())
                watch("translating", result.done, len(source))
        self._warn(result.done, result.counts)
        print_line(into)

    def _windows(self, lines: Iterable[str], name: str, first: int = 0) -> Iterator[Window]:
        from interlace.models.translator import LongLineError

        try:
            yield from self.interpreter.windows(lines, self.window, first, cut=self.cut)
        except LongLineError as error:
            raise DataError(f"{name}, {error}; --long cut translates it in pieces") from None

    def _warn(self, lines: int, counts: Mapping[str, int]) -> None:
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
