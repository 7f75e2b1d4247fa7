"""Write files in a derived language: one property changed at a time, over text and labels."""

from __future__ import annotations

import json
import re
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from interlace.cli import Code, Json, load_plugins, notes, output
from interlace.cli.common.options import parse_changes

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from interlace.derived import Chain

META = "meta.json"
_USUAL_LANGUAGE, _USUAL_SPLITTER = "en", "unicode"

_Files = Annotated[list[Path], typer.Argument(help="Lines, CoNLL-U, IOB2, tables of labelled pairs, SQuAD; or .gz.")]
_With = Annotated[
    str,
    typer.Option(
        "--with",
        metavar="CHANGE,..",
        help="Changes in order of application (`interlace list transformations`); papers write the last one first.",
    ),
]
_Undo = Annotated[
    Path | None,
    typer.Option("--undo", metavar="FOLDER", help="Change files of this folder's language back, in place of --with."),
]
_Into = Annotated[
    Path, typer.Option("--output", "-o", help="The folder to write: a new one, or that of these files before.")
]
_Set = Annotated[
    list[str],
    typer.Option("--set", help="A setting of a change: --set transliterate.to=ids; lists as a,b (repeatable)."),
]
_Language = Annotated[str, typer.Option("--language", help="Code of the text; none: that in the files' names, or en.")]
_Name = Annotated[str, typer.Option("--name", help="What the derived language is called; none: en_x.")]
_Reader = Annotated[str, typer.Option("--reader", help="What reads all files; none: by suffix.")]
_WordTokenizer = Annotated[str, typer.Option("--word-tokenizer", help="What finds words where files do not part them.")]
_Blanks = Annotated[bool, typer.Option("--blanks", help="Put one blank between all words, as links count them.")]
_Seed = Annotated[int, typer.Option("--seed", min=0, help="Another seed draws another language.")]


def distort(
    files: _Files,
    into: _Into,
    changes: _With = "",
    undo: _Undo = None,
    settings: _Set = [],
    language: _Language = "",
    name: _Name = "",
    reader: _Reader = "",
    word_tokenizer: _WordTokenizer = _USUAL_SPLITTER,
    blanks: _Blanks = False,
    seed: _Seed = 0,
    code: Code = [],
    as_json: Json = False,
) -> None:
    """Write each file in a derived language, in its format, with word links, a dictionary and what was done."""
    load_plugins(code)
    if undo is not None:
        given = {"--with": changes, "--set": settings, "--seed": seed, "--blanks": blanks, "--name": name}
        given |= {"--language": language, "--word-tokenizer": word_tokenizer != _USUAL_SPLITTER}
        _restore(files, undo, into, reader, [option for option, value in given.items() if value], as_json=as_json)
        return
    from interlace.cli._distort_files import Distorter
    from interlace.text.lines import atomic_folder, write_lines

    chosen = _chain(changes, settings)
    own, why = (language, "") if language else _language(files)
    derived = _called(name, own)
    distorter = Distorter(chosen, seed, own, reader, word_tokenizer, blanks)
    words = f"dictionary.{own}-{derived}.txt"
    _must_differ([(path, distorter.outputs(path)) for path in files], words)
    _must_lose_nothing(into, {words, *chain.from_iterable(map(distorter.outputs, files))}, files)
    if why and not as_json:
        notes.print(f"language {own!r}, {why}; --language names another", highlight=False, soft_wrap=True)
    with atomic_folder(into) as folder:
        written = [distorter.write(path, folder) for path in files]
        dictionary = distorter.became.entries()
        write_lines(folder / words, map("\t".join, dictionary))
        about = _about(chosen, seed, own, derived, word_tokenizer, blanks=blanks) | {"files": written}
        about["dictionary"] = len(dictionary)
        (folder / META).write_text(json.dumps(about, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    _say(about, into, as_json=as_json)


def _restore(files: Sequence[Path], folder: Path, into: Path, reader: str, beside: list[str], *, as_json: bool) -> None:
    """Write each file as it was before it was distorted, as far as its words tell.

    beside: options that say what the folder's record says.
    """
    from interlace.cli._distort_files import Distorter
    from interlace.cli._distort_undo import Record, restore
    from interlace.core.errors import SettingsError
    from interlace.text.lines import atomic_folder

    if beside:
        raise SettingsError(f"{beside[0]}: {folder / META} says what is undone; leave it out beside --undo")
    record = Record.read(folder / META)
    _must_lose_nothing(into, {path.name for path in files}, [*files, folder / META])
    distorter = Distorter(record.changes, record.seed, record.of, reader, record.finds_words, blanks=False)
    _must_differ([(path, [path.name]) for path in files], META)
    with atomic_folder(into) as made:
        written = [restore(distorter, path, made) for path in files]
        about = {"language": record.of, "undone": record.language, "by": str(folder / META), "files": written}
        (made / META).write_text(json.dumps(about, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    _say(about, into, as_json=as_json)


def _chain(changes: str, settings: Sequence[str]) -> Chain:
    """The changes that the options stand for.

    Raises:
        SettingsError: no such change, or a setting that none of them has.
    """
    from interlace.core.errors import SettingsError, did_you_mean
    from interlace.derived import TRANSFORMATIONS, chain

    names = [one.strip() for one in changes.split(",") if one.strip()]
    if not names:
        raise SettingsError(f"--with {changes!r}: name changes{did_you_mean('', TRANSFORMATIONS.names())}")
    fields: dict[str, dict[str, Any]] = {one: {} for one in names}
    for key, value in parse_changes(list(settings), "CHANGE.KEY=VALUE, such as transliterate.to=ids").items():
        one, _, inner = key.partition(".")
        if one not in fields or not inner:
            raise SettingsError(f"--set {key}: expected a setting of one of the changes{did_you_mean(one, names)}")
        _put(fields[one], inner.split("."), TRANSFORMATIONS.get(one), value)
    return chain([{"name": one, **fields[one]} for one in names], "--set")


def _put(fields: dict[str, Any], keys: list[str], member: Any, value: str) -> None:
    """A value under a key, or under keys of a section; a list where the field is one."""
    for key in keys[:-1]:
        fields = fields.setdefault(key, {})
    known = member.model_fields.get(keys[-1]) if len(keys) == 1 else None
    several = known is not None and "tuple" in str(known.annotation)
    fields[keys[-1]] = [one.strip() for one in value.split(",") if one.strip()] if several else value


def _language(files: Sequence[Path]) -> tuple[str, str]:
    """The language that the files' names say, else English, and why: `or` in `this.or.txt` need not be Odia.

    Raises:
        DataError: they say several; there is one dictionary, and one name for what they become.
    """
    from interlace.cli._distort_files import language_in
    from interlace.core.errors import DataError

    said = {found: path for path in files if (found := language_in(path))}
    if len(said) > 1:
        (one, first), (other, second), *_ = said.items()
        raise DataError(
            f"{first} is in {one!r} and {second} in {other!r}, by their names; distort the files of each language "
            "apart, or say by --language what all of them are in"
        )
    if not said:
        return _USUAL_LANGUAGE, "for no file's name says one"
    ((found, path),) = said.items()
    return found, f"by the name of {path}"


def _called(name: str, own: str) -> str:
    """What the derived language is called; files have it in their names, and pairs beside `own`.

    Raises:
        SettingsError: it is that of the language itself, or no name.
    """
    from interlace.core.errors import SettingsError

    if name == own:
        raise SettingsError(f"--name {name}: is what the language is called that it is made of; give it another")
    for option, given in (("--language", own), ("--name", name)):
        if given and not re.fullmatch(r"\w+", given):
            raise SettingsError(f"{option} {given!r}: expected letters, digits and '_', such as en_x")
    return name or f"{own}_x"


def _must_differ(outputs: Sequence[tuple[Path, list[str]]], dictionary: str) -> None:
    """Nothing that is written may take the place of anything else.

    outputs: for each file, the names under which it and its links are written.
    """
    from interlace.core.errors import DataError

    names = {META: "what was done", dictionary: "the dictionary"}
    for path, own in outputs:
        for name in own:
            what = str(path) if name == path.name else f"links of {path}"
            if name in names:
                raise DataError(f"{what} and {names[name]} would both be written as {name}; distort them apart")
            names[name] = what


def _must_lose_nothing(into: Path, names: Collection[str], read: Iterable[Path]) -> None:
    """Only what these very files came to before is replaced.

    Raises:
        SettingsError: the folder holds what is read.
        DataError: it holds what would not be written again.
    """
    from interlace.core.errors import DataError, SettingsError
    from interlace.text.lines import must_be_replaceable
    from interlace.training.run_folder import read_json

    if into.resolve() in {path.resolve().parent for path in read}:
        raise SettingsError(f"--output {into}: holds what is read; give another folder")
    must_be_replaceable(into, META, "folder of a derived language")
    there = {path.name for path in into.iterdir()} if into.is_dir() else set()
    record = read_json(into / META)
    if META in there and not (isinstance(record, dict) and {"language", "files"} <= set(record)):
        raise DataError(f"{into}: its {META} is of something else; give a new folder")
    if lost := sorted(there - {*names, META}):
        raise DataError(
            f"{into}: holds {lost[0]}, which this would not write again; give a new folder, or all files in one command"
        )


def _about(chosen: Chain, seed: int, own: str, name: str, word_tokenizer: str, *, blanks: bool) -> dict[str, Any]:
    """What was done, to do it again."""
    return {
        "language": name,
        "of": own,
        "changes": [{"name": change.name, **change.dump()} for change in chosen.changes],
        "seed": seed,
        "word_tokenizer": word_tokenizer,
        "blanks": blanks,
        "can_be_undone": chosen.undoes,
    }


def _say(about: dict[str, Any], into: Path, *, as_json: bool) -> None:
    if as_json:
        output.print_json(json.dumps(about))
        return
    for file in about["files"]:
        told = "".join(f"; {count:,} {what}" for what, count in file["notes"].items())
        line = f"{file['file']}: {file['lines']:,} lines, {file['words']:,} words{told}"
        notes.print(line, highlight=False, soft_wrap=True)
    if "dictionary" in about:
        notes.print(f"{about['dictionary']:,} words in the dictionary", highlight=False, soft_wrap=True)
    output.print(str(into), soft_wrap=True, highlight=False)
