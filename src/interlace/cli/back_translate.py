"""Back-translate monolingual text."""

from pathlib import Path
from typing import Annotated

import typer

from interlace.cli import Code, load_plugins, notes, print_line
from interlace.cli.common import options
from interlace.cli.common.options import (
    Force,
    FromLanguage,
    Precision,
    Tokens,
    ToLanguage,
    settings_of,
)


def back_translate(
    run: Annotated[str, typer.Argument(help="A finished run, or a model folder.")],
    text: Annotated[
        Path, typer.Argument(help="Monolingual text, one sentence per line; may end in .gz.")
    ],
    into: Annotated[
        Path, options.output("Folder for both sides: train.LANGUAGE.", kind="folder")
    ],
    source: FromLanguage,
    target: ToLanguage,
    tag: Annotated[
        str, typer.Option("--tag", help="A word before each translated sentence, such as <BT>.")
    ] = "",
    sets: Annotated[
        list[str],
        typer.Option(
            "--set",
            metavar="KEY=VALUE",
            help="Setting: search.beam=1, filters.ratio.max_ratio=2 ..",
        ),
    ] = [],
    tokens: Tokens = None,
    precision: Precision = "auto",
    force: Force = False,
    code: Code = [],
) -> None:
    """Translate monolingual text and write both sides as a training corpus for the other direction."""
    load_plugins(code)
    from interlace.core.bars import watching
    from interlace.experiments.translation import BackTranslationSettings, LineTranslator
    from interlace.experiments.translation import back_translate as back_translate_lines

    settings = settings_of(
        BackTranslationSettings, {"tag": tag}, sets, "KEY=VALUE, such as search.beam=1"
    )
    translator = LineTranslator(
        run, source, target, settings.search, force=force, tokens=tokens, precision=precision
    )
    with watching(notes) as progress:
        summary = back_translate_lines(translator, text, into, settings, progress)
    notes.print(f"{summary['pairs']:,} pairs; dropped: {summary['dropped']}", markup=False)
    print_line(into)
