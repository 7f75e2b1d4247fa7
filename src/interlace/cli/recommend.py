"""Recommend objectives for the user's data."""

from pathlib import Path
from typing import Annotated

import typer

from interlace.cli import Code, Json, load_plugins, print_json, print_line
from interlace.cli.common import options
from interlace.cli.common.options import comma_separated, language_of
from interlace.core.files import must_be_replaceable


def recommend(
    files: Annotated[list[Path], typer.Argument(metavar="FILE", help="Text, one sentence per line: train.en ...")],
    start: Annotated[
        str | None, typer.Option("--start", metavar="CHECKPOINT", help="Checkpoint to continue. Default: from scratch.")
    ] = None,
    dictionary: Annotated[
        Path | None, typer.Option("--dictionary", help="Dictionary: source word, tab or blank, target word.")
    ] = None,
    languages: Annotated[
        str, typer.Option("--languages", metavar="EN,DE", help="Languages of the files. Default: from their names.")
    ] = "",
    steps: Annotated[
        int | None, typer.Option("--steps", min=1, help="Updates of a run. Default: three passes, at most 20,000.")
    ] = None,
    into: Annotated[Path | None, options.output("Folder for a study that compares what fits.", kind="folder")] = None,
    code: Code = [],
    as_json: Json = False,
) -> None:
    """Print which objectives fit your data, with reasons and results, and write a study that compares them."""
    load_plugins(code)
    from interlace.cli.common.output import print_rows
    from interlace.experiments.recommend import CONTENTS, SEEDS, STUDY, text_files, write_study
    from interlace.experiments.recommend import recommend as recommend_for

    if into is not None:
        must_be_replaceable(into, STUDY, "study", CONTENTS)
    codes = comma_separated(languages) or list(map(language_of, files))
    found = recommend_for(text_files(files, codes), start=start, dictionary=dictionary, steps=steps)
    study = None if into is None else write_study(found, into)
    if as_json:
        print_json({**found.dump(), "study": study and str(study)})
        return
    print_rows([{"file": str(one.path), "language": one.language, "lines": one.lines} for one in found.files])
    for source, target in found.pairs:
        print_line(f"translations: {source.path.name} and {target.path.name}, {source.lines:,} pairs")
    for language, cut in found.coverage.items():
        print_line(f"{language}: {cut.subwords_per_word} subwords per word, {cut.unknown} % unknown")
    for note in found.notes:
        print_line(f"note: {note}")
    for title, fits in (("fits", True), ("does not fit", False)):
        print_line(f"\n{title}:")
        for each in (each for each in found.advice if each.fits == fits):
            print_line(f"  {each.objective}: {each.why}")
            for line in each.evidence if fits else ():
                print_line(f"    {line}")
    print_line(f"\n{found.steps:,} steps a run; {SEEDS} seeds of all that fit")
    if study is not None:
        print_line(f"interlace study {study} -o {into}-runs")
