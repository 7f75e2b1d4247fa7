"""Write files in a derived language: transformations of script, word order or vocabulary, over text and labels."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from interlace.cli import Code, load_plugins, notes, print_line
from interlace.cli.common import options
from interlace.cli.common.options import comma_separated, nested_changes

if TYPE_CHECKING:
    from interlace.derived import Chain, Transformation
    from interlace.derived.common.folder import FolderFile


def derive(
    files: Annotated[
        list[Path],
        typer.Argument(help="Lines, CoNLL-U, IOB2, tables of labelled pairs; or .gz."),
    ],
    into: Annotated[
        Path, options.output("New folder, or one written from the same files.", kind="folder")
    ],
    transformations: Annotated[
        str,
        typer.Option(
            "--transformations",
            metavar="NAME,..",
            help="Names from `interlace list transformations`, in order of application.",
        ),
    ] = "",
    settings: Annotated[
        list[str],
        typer.Option(
            "--set",
            help="A setting of a transformation: --set overlap.share=0.5 (repeatable).",
        ),
    ] = [],
    language: Annotated[str, typer.Option("--language", help="Language of all files.")] = "en",
    name: Annotated[
        str, typer.Option("--name", help="Name of the derived language. Default: en_x.")
    ] = "",
    reader: Annotated[
        str, typer.Option("--reader", help="Reader of all files. Default: by suffix.")
    ] = "",
    word_tokenizer: Annotated[
        str,
        typer.Option(
            "--word-tokenizer", help="Word tokenizer of files that are not tokenized."
        ),
    ] = "unicode",
    seed: Annotated[
        int, typer.Option("--seed", min=0, help="Seed of random transformations.")
    ] = 0,
    code: Code = [],
) -> None:
    """Write each file in a derived language (changed script, word order or words), with alignments and a dictionary."""
    load_plugins(code)
    from interlace.core.files import atomic_folder, must_be_replaceable
    from interlace.derived.common.folder import (
        META,
        Derivation,
        DerivedDictionary,
        outputs_of,
        write_folder,
    )

    chain = _chain(transformations, settings)
    derivation = Derivation(_name_of(name, language), language, chain, seed, word_tokenizer)
    folder_files: list[FolderFile] = [_derived_file(path, reader) for path in files]
    folder_files.append(
        DerivedDictionary((f"dictionary.{language}-{derivation.name}.txt",), ())
    )
    outputs = outputs_of(folder_files)
    must_be_replaceable(into, META, "folder of a derived language", outputs)
    with notes.status("deriving"), atomic_folder(into) as folder:
        about = write_folder(derivation, folder_files, folder)
    for file in about["files"]:
        counts = "".join(f"; {count:,} {note}" for note, count in file["notes"].items())
        print_line(
            f"{file['file']}: {file['lines']:,} lines, {file['words']:,} words{counts}", notes
        )
    print_line(f"{about['dictionary']:,} words in the dictionary", notes)
    print_line(into)


def _derived_file(path: Path, reader: str) -> FolderFile:
    """Return a file to write under its own name, with its alignments, one for each side of pairs."""
    from interlace.derived.common.folder import DerivedFile, OriginalFiles
    from interlace.derived.common.formats import fitting_reader
    from interlace.text.lines import plain_name

    source = OriginalFiles(fitting_reader(path, reader), (path,))
    stem = plain_name(path).name
    sides = (".source", ".target") if source.reader.name == "nli" else ("",)
    alignments = [f"{stem}{side}.alignments" for side in sides]
    return DerivedFile((path.name, *alignments), (source,))


def _chain(names: str, changes: list[str]) -> Chain:
    """Return the transformations with their settings, such as `overlap.share=0.5`."""
    from interlace.core.errors import SettingsError, did_you_mean
    from interlace.derived import TRANSFORMATIONS, chain

    chosen = comma_separated(names)
    if not chosen:
        raise SettingsError(
            f"--transformations {names!r}: expected names{did_you_mean('', TRANSFORMATIONS.names())}"
        )
    settings = nested_changes(changes, "NAME.KEY=VALUE, such as overlap.share=0.5")
    for name, values in settings.items():
        if name not in chosen or not isinstance(values, dict):
            raise SettingsError(
                f"--set {name}: expected a setting of a transformation{did_you_mean(name, chosen)}"
            )
    steps: list[Transformation] = []
    for name in chosen:
        fields = {"name": name, **settings.get(name, {})}
        steps.append(TRANSFORMATIONS.build(fields, f"--set {name}"))
    return chain(steps)


def _name_of(name: str, language: str) -> str:
    """Return the name of the derived language, which becomes a part of file names."""
    from interlace.core.errors import SettingsError

    if name == language:
        raise SettingsError(
            f"--name {name}: is the name of the original language; give another"
        )
    name = name or f"{language}_x"
    for option, value in (("--language", language), ("--name", name)):
        if not re.fullmatch(r"\w+", value):
            raise SettingsError(
                f"{option} {value!r}: expected letters, digits and '_', such as en_x"
            )
    return name
