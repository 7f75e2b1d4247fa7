"""Translate text with a trained run."""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from interlace.cli import Code, load_plugins, print_line
from interlace.cli.common import options
from interlace.cli.common.options import Batch, Force, Precision, ShardOfText, Tokens, parse_changes
from interlace.cli.common.windows import window_size, windows_to
from interlace.core.errors import SettingsError
from interlace.text.lines import lines_of

if TYPE_CHECKING:
    from interlace.experiments.translation import Window
    from interlace.models.settings import SearchSettings

log = logging.getLogger(__name__)


def translate(
    run: Annotated[str, typer.Argument(metavar="RUN", help="A finished run, or a model folder.")],
    source: Annotated[str, typer.Option("--from", metavar="LANGUAGE", help="Source language.")] = "",
    target: Annotated[str, typer.Option("--to", metavar="LANGUAGE", help="Target language.")] = "",
    input_: Annotated[
        Path | None, typer.Option("--input", help="Input file, gzip by suffix. Default: standard input.")
    ] = None,
    into: Annotated[Path | None, options.output(options.OUTPUT_FILE, default_is_standard=True)] = None,
    beam: Annotated[int | None, typer.Option("--beam", min=1, help="Beam size (5); 1: greedy.")] = None,
    length_penalty: Annotated[
        float | None,
        typer.Option(
            "--length-penalty",
            help="Exponent of the length normalization (1); larger prefers longer translations, 0: none.",
        ),
    ] = None,
    sets: Annotated[
        list[str],
        typer.Option("--set", metavar="KEY=VALUE", help="Search settings: stop, max_ratio, max_extra, allow_unk."),
    ] = [],
    window: Annotated[
        int | None,
        typer.Option("--window", min=1, help="Lines per window, read before translating (2000; at a terminal 1)."),
    ] = None,
    batch: Batch = None,
    tokens: Tokens = None,
    precision: Precision = "no",
    shard: ShardOfText = "1/1",
    force: Force = False,
    code: Code = [],
    as_json: Annotated[bool, typer.Option("--json", help="Write one JSON object per line, with the score.")] = False,
) -> None:
    """Translate text line by line: interlace translate RUN --from en --to de < in > out.

    With --output, rerun the command to resume.
    """
    load_plugins(code)
    from interlace.experiments.translation import LineTranslator, Shard, check_direction, kept_windows

    taken = Shard.read(shard)
    if taken.of > 1 and input_ is None:
        raise SettingsError("--shard needs the number of lines; name a file: --input FILE")
    search = _search({"beam": beam, "length_penalty": length_penalty}, sets)
    check_direction(run, source, target)
    text = None if input_ is None else taken.lines_of(input_)
    interpreter = LineTranslator(
        run, source, target, search, force=force, rows=batch, tokens=tokens, precision=precision
    )
    size = window_size(window, input_)
    lines: Iterable[str] = lines_of(sys.stdin.buffer, "standard input") if text is None else text
    first, total = (0, 0) if text is None else (text.first, len(text))
    done, counts = 0, dict[str, int]()
    with kept_windows(into) as keep, windows_to(into, "translating") as write:
        for translated in interpreter.windows(lines, size, first, keep):
            counts = {key: counts.get(key, 0) + count for key, count in translated.counts().items()}
            done += len(translated)
            texts = _rows(translated) if as_json else [one.text for one in translated.translations]
            write(texts, done, total)
    _warn(done, counts, interpreter.translator.max_target)
    if into is not None:
        print_line(into)


def _search(options: dict[str, Any], sets: list[str]) -> SearchSettings:
    """Build the search settings from the options; errors name options."""
    from interlace.models.settings import SearchSettings

    given = {key: value for key, value in options.items() if value is not None}
    changes = parse_changes(sets, "KEY=VALUE, such as max_ratio=2")
    for key in changes:
        if given.get(key) is not None:
            raise SettingsError(f"--set {key}: --{key.replace('_', '-')} sets the same; give one of them")
    return SearchSettings.read(given | changes, "translate")


def _rows(window: Window) -> Iterator[str]:
    for number, (line, one) in enumerate(zip(window.lines, window.translations, strict=True), window.first + 1):
        scores = {"score": round(one.score, 4), "logprob": round(one.logprob, 4), "length": one.length}
        row = {"line": number, "source": line, "text": one.text, **scores, "pieces": one.pieces}
        yield json.dumps(row, ensure_ascii=False)


def _warn(lines: int, counts: Mapping[str, int], max_target: int) -> None:
    if pieces := counts.get("pieces", 0):
        message = "%s of %s lines exceed the maximum length and were translated in pieces"
        log.warning(message, f"{pieces:,}", f"{lines:,}")
    if unknown := counts.get("unknown", 0):
        message = "%s of %s lines contain characters that are not in the vocabulary, read as unknown tokens"
        log.warning(message, f"{unknown:,}", f"{lines:,}")
    if full := counts.get("full", 0):
        message = "%s of %s translations reached the maximum length and may be cut: see --set max_ratio=3%s"
        log.warning(message, f"{full:,}", f"{lines:,}", f" (the model generates at most {max_target:,} tokens)")
