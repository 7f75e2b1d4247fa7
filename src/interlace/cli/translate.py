"""Translate text with a trained run."""

from __future__ import annotations

import json
import logging
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from interlace.cli import Code, load_plugins, print_line
from interlace.cli.common import options
from interlace.cli.common.options import (
    Force,
    FromLanguage,
    Precision,
    Tokens,
    ToLanguage,
    settings_of,
)
from interlace.cli.common.output import bar_beside, lines_to
from interlace.text.lines import count_lines, lines_of, read_lines

if TYPE_CHECKING:
    from interlace.experiments.translation import Window

log = logging.getLogger(__name__)

_PROBLEMS = {  # by name of `Window.counts`
    "pieces": "lines exceed the maximum length and were translated in pieces",
    "unknown": "lines contain characters that are not in the vocabulary, read as unknown tokens",
    "full": "translations reached the maximum length and may be cut: see --set max_ratio=3",
}


def translate(
    run: Annotated[
        str, typer.Argument(metavar="RUN", help="A finished run, or a model folder.")
    ],
    source: FromLanguage,
    target: ToLanguage,
    input_: Annotated[
        Path | None,
        typer.Option("--input", help="Input file, gzip by suffix. Default: standard input."),
    ] = None,
    into: options.OutputFile = None,
    beam: Annotated[
        int | None, typer.Option("--beam", min=1, help="Beam size (5); 1: greedy.")
    ] = None,
    length_penalty: Annotated[
        float | None,
        typer.Option(
            "--length-penalty",
            help="Exponent of the length normalization (1); larger prefers longer translations, 0: none.",
        ),
    ] = None,
    sets: Annotated[
        list[str],
        typer.Option(
            "--set",
            metavar="KEY=VALUE",
            help="Search settings: max_ratio, max_extra.",
        ),
    ] = [],
    window: Annotated[
        int | None,
        typer.Option(
            "--window",
            min=1,
            help="Lines per window, read before translating (2000; at a terminal 1).",
        ),
    ] = None,
    tokens: Tokens = None,
    precision: Precision = "no",
    force: Force = False,
    code: Code = [],
    as_json: Annotated[
        bool, typer.Option("--json", help="Write one JSON object per line, with the score.")
    ] = False,
) -> None:
    """Translate text line by line: interlace translate RUN --from en --to de < in > out.

    With --output, rerun the command to resume.
    """
    load_plugins(code)
    from interlace.experiments.translation import LINES, LineTranslator, stored_windows
    from interlace.models.settings import SearchSettings

    search_options = {"beam": beam, "length_penalty": length_penalty}
    search = settings_of(SearchSettings, search_options, sets, "KEY=VALUE, such as max_ratio=2")
    lines: Iterable[str]
    if input_ is None:
        lines = lines_of(sys.stdin.buffer, "standard input")
        total = 0
    else:
        lines = read_lines(input_)
        total = count_lines(input_)
    translator = LineTranslator(
        run, source, target, search, force=force, tokens=tokens, precision=precision
    )
    done = 0
    counts = Counter[str]()
    is_typed = input_ is None and sys.stdin.isatty()
    size = window or (1 if is_typed else LINES)
    with (
        stored_windows(into) as stored,
        lines_to(into) as write,
        bar_beside(into) as progress,
    ):
        for translated in translator.windows(lines, size, stored):
            counts.update(translated.counts())
            write(_output_lines(translated, done + 1, as_json=as_json))
            done += len(translated)
            if into is None:
                sys.stdout.buffer.flush()
            progress("translating", done, total)
    for name, problem in _PROBLEMS.items():
        if counts[name]:
            log.warning("%s of %s %s", f"{counts[name]:,}", f"{done:,}", problem)
    if into is not None:
        print_line(into)


def _output_lines(window: Window, first_line: int, *, as_json: bool) -> Iterator[str]:
    for number, translation in enumerate(window.translations):
        if not as_json:
            yield translation.text
            continue
        row = {
            "line": first_line + number,
            "source": window.lines[number],
            "text": translation.text,
            "score": round(translation.score, 4),
            "logprob": round(translation.logprob, 4),
            "length": translation.length,
            "pieces": translation.pieces,
        }
        yield json.dumps(row, ensure_ascii=False)
