"""Write files in a derived language: transformations of script, word order or vocabulary, over text and labels."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from interlace.cli import Code, Json, load_plugins, notes, print_json, print_line
from interlace.cli.common import options
from interlace.cli.common.options import comma_separated, parse_changes

if TYPE_CHECKING:
    from interlace.derived import Chain

_DEFAULT_LANGUAGE = "en"


def derive(
    files: Annotated[list[Path], typer.Argument(help="Lines, CoNLL-U, IOB2, tables of labelled pairs, SQuAD; or .gz.")],
    into: Annotated[Path, options.output("New folder, or one written from the same files.", kind="folder")],
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
            "--set", help="A setting of a transformation: --set overlap.share=0.5; lists as a,b (repeatable)."
        ),
    ] = [],
    language: Annotated[
        str, typer.Option("--language", help="Language of the files. Default: from their names, or en.")
    ] = "",
    name: Annotated[str, typer.Option("--name", help="Name of the derived language. Default: en_x.")] = "",
    reader: Annotated[str, typer.Option("--reader", help="Reader of all files. Default: by suffix.")] = "",
    word_tokenizer: Annotated[
        str, typer.Option("--word-tokenizer", help="Word tokenizer of files that are not tokenized.")
    ] = "unicode",
    seed: Annotated[int, typer.Option("--seed", min=0, help="Seed of random transformations.")] = 0,
    code: Code = [],
    as_json: Json = False,
) -> None:
    """Write each file in a derived language (changed script, word order or words), with alignments and a dictionary."""
    load_plugins(code)
    from interlace.core.files import atomic_folder
    from interlace.derived.common import folder as folders

    chosen = _chain(transformations, settings)
    original, reason = (language, "") if language else folders.language_of(files, _DEFAULT_LANGUAGE)
    derivation = folders.Derivation(_name_of(name, original), original, chosen, seed, word_tokenizer)
    derived = [folders.derived_file(path, reader) for path in files]
    dictionary = folders.DerivedDictionary(f"dictionary.{original}-{derivation.name}.txt")
    every: list[folders.FolderFile] = [*derived, dictionary]
    folders.check_outputs(every)
    folders.check_folder(into, {output for file in every for output in file.outputs})
    if reason and not as_json:
        print_line(f"language {original!r}, {reason}; set --language to change it", notes)
    with atomic_folder(into) as folder:
        about = folders.write_folder(derivation, every, folder)
    if as_json:
        print_json(about)
        return
    for file in about["files"]:
        counts = "".join(f"; {count:,} {what}" for what, count in file["notes"].items())
        print_line(f"{file['file']}: {file['lines']:,} lines, {file['words']:,} words{counts}", notes)
    print_line(f"{about['dictionary']:,} words in the dictionary", notes)
    print_line(into)


def _chain(names: str, settings: Sequence[str]) -> Chain:
    from interlace.core.errors import SettingsError, did_you_mean
    from interlace.derived import TRANSFORMATIONS, chain

    chosen = comma_separated(names)
    if not chosen:
        raise SettingsError(f"--transformations {names!r}: expected names{did_you_mean('', TRANSFORMATIONS.names())}")
    fields: dict[str, dict[str, Any]] = {one: {} for one in chosen}
    for key, value in parse_changes(list(settings), "NAME.KEY=VALUE, such as overlap.share=0.5").items():
        one, _, inner = key.partition(".")
        if one not in fields or not inner:
            raise SettingsError(f"--set {key}: expected a setting of a transformation{did_you_mean(one, chosen)}")
        _put(fields[one], inner.split("."), TRANSFORMATIONS.get(one), value)
    return chain(TRANSFORMATIONS.build({"name": one, **fields[one]}, f"--set {one}") for one in chosen)


def _put(fields: dict[str, Any], keys: list[str], kind: Any, value: str) -> None:
    """Set a value by its key path, as a list if the field is one."""
    for key in keys[:-1]:
        fields = fields.setdefault(key, {})
    known = kind.model_fields.get(keys[-1]) if len(keys) == 1 else None
    several = known is not None and "tuple" in str(known.annotation)
    fields[keys[-1]] = comma_separated(value) if several else value


def _name_of(name: str, own: str) -> str:
    """Return the name of the derived language, which becomes a part of file names."""
    from interlace.core.errors import SettingsError

    if name == own:
        raise SettingsError(f"--name {name}: is the name of the original language; give another")
    for option, given in (("--language", own), ("--name", name)):
        if given and not re.fullmatch(r"\w+", given):
            raise SettingsError(f"{option} {given!r}: expected letters, digits and '_', such as en_x")
    return name or f"{own}_x"
