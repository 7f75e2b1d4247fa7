"""Translate text with a trained run."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from interlace.cli import Code, load_plugins
from interlace.cli.common.options import Anyway, Batch, Piece, Precision, Tokens, parse_changes
from interlace.core.errors import SettingsError

if TYPE_CHECKING:
    from interlace.models.generation import SearchSettings

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
    part: Piece = "1/1",
    anyway: Anyway = False,
    code: Code = [],
    as_json: _AsJson = False,
) -> None:
    """Translate text line by line: interlace translate RUN --from en --to de < in > out."""
    load_plugins(code)
    from interlace.cli.common.translation import Form, Work
    from interlace.experiments.translation import LineTranslator, Shard, check_direction

    taken = Shard.read(part)
    if taken.of > 1 and input_ is None:
        raise SettingsError("--shard needs the number of lines; name a file: --input FILE")
    search = _search({"beam": beam, "length_penalty": length_penalty, "n_best": n_best}, sets)
    check_direction(runs, source, target)
    text = None if input_ is None else taken.lines_of(input_)
    interpreter = LineTranslator(
        runs, source, target, search, force=anyway, rows=batch, tokens=tokens, precision=precision
    )
    size = window or (1 if input_ is None and sys.stdin.isatty() else WINDOW)
    work = Work(interpreter, Form(search.n_best, scores, as_json), size, long == "cut")
    if text is not None and into is not None:
        work.file(text, into)
    else:
        work.stream(text, into)


def _search(options: dict[str, Any], sets: list[str]) -> SearchSettings:
    """Build the search settings from the options; errors name options."""
    from interlace.models.generation import SearchSettings

    given = {key: value for key, value in options.items() if value is not None}
    changes = parse_changes(sets, "KEY=VALUE, such as max_ratio=2")
    for key in changes:
        if given.get(key) is not None:
            raise SettingsError(f"--set {key}: --{key.replace('_', '-')} sets the same; give one of them")
    return SearchSettings.read(given | changes, "translate")
