"""Translate text with a trained run."""

from __future__ import annotations

import json
import logging
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from interlace.cli import Code, load_plugins, print_line
from interlace.cli.common import options
from interlace.cli.common.options import Batch, Force, Precision, ShardOfText, Tokens, settings_of
from interlace.cli.common.windows import window_size, windows_to
from interlace.core.errors import SettingsError
from interlace.text.lines import lines_of

if TYPE_CHECKING:
    from interlace.experiments.translation import Window

log = logging.getLogger(__name__)


def translate(
    run: Annotated[str, typer.Argument(metavar="RUN", help="A finished run, or a model folder.")],
    source: Annotated[
        str, typer.Option("--from", metavar="LANGUAGE", help="Source language.")
    ] = "",
    target: Annotated[str, typer.Option("--to", metavar="LANGUAGE", help="Target language.")] = "",
    input_: Annotated[
        Path | None,
        typer.Option("--input", help="Input file, gzip by suffix. Default: standard input."),
    ] = None,
    into: Annotated[
        Path | None, options.output(options.OUTPUT_FILE, default_is_standard=True)
    ] = None,
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
            help="Search settings: stop, max_ratio, max_extra, allow_unk.",
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
    batch: Batch = None,
    tokens: Tokens = None,
    precision: Precision = "no",
    shard: ShardOfText = "1/1",
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
    from interlace.experiments.translation import (
        LineTranslator,
        Shard,
        check_direction,
        kept_windows,
    )
    from interlace.models.settings import SearchSettings

    part = Shard.read(shard)
    if part.of > 1 and input_ is None:
        raise SettingsError("--shard needs the number of lines; name a file: --input FILE")
    options = {"beam": beam, "length_penalty": length_penalty}
    search = settings_of(SearchSettings, options, sets, "KEY=VALUE, such as max_ratio=2")
    check_direction(run, source, target)
    lines: Iterable[str]
    if input_ is None:
        lines = lines_of(sys.stdin.buffer, "standard input")
        first = 0
        total = 0
    else:
        text = part.lines_of(input_)
        lines = text
        first = text.first
        total = len(text)
    translator = LineTranslator(
        run, source, target, search, force=force, rows=batch, tokens=tokens, precision=precision
    )
    done = 0
    counts = Counter[str]()
    with kept_windows(into) as keep, windows_to(into, "translating") as write:
        for translated in translator.windows(lines, window_size(window, input_), first, keep):
            counts.update(translated.counts())
            done += len(translated)
            write(_json_lines(translated) if as_json else _texts(translated), done, total)
    _warn(done, counts, translator.translator.max_target)
    if into is not None:
        print_line(into)


def _texts(window: Window) -> Iterator[str]:
    return (translation.text for translation in window.translations)


def _json_lines(window: Window) -> Iterator[str]:
    numbers = count(window.first + 1)
    for number, line, translation in zip(numbers, window.lines, window.translations, strict=False):
        row = {
            "line": number,
            "source": line,
            "text": translation.text,
            "score": round(translation.score, 4),
            "logprob": round(translation.logprob, 4),
            "length": translation.length,
            "pieces": translation.pieces,
        }
        yield json.dumps(row, ensure_ascii=False)


def _warn(lines: int, counts: Mapping[str, int], max_target: int) -> None:
    """Warn of lines that may be translated badly; counts: see `Window.counts`."""
    problems = {
        "pieces": "lines exceed the maximum length and were translated in pieces",
        "unknown": "lines contain characters that are not in the vocabulary, read as unknown tokens",
        "full": "translations reached the maximum length and may be cut: see --set max_ratio=3 "
        f"(the model generates at most {max_target:,} tokens)",
    }
    for key, problem in problems.items():
        if counts[key]:
            log.warning("%s of %s %s", f"{counts[key]:,}", f"{lines:,}", problem)
