"""Options that several commands share, and how they are read."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

import typer

from interlace.core.errors import SettingsError
from interlace.core.json_files import JsonObject
from interlace.core.outputs import STANDARD_OUTPUT, Output, is_stream
from interlace.core.settings import Settings

S = TypeVar("S", bound=Settings)


@dataclass(frozen=True)
class OutputPath:
    """Reads the path of an option that names an output, and says what `core.outputs` has to know of it.

    default_is_standard: whether the output is standard output by default. beside: the other output that is written for
    a path, under a name that is derived from it. option, kind, is_earlier: see `Output`.
    """

    option: str = "--output"
    kind: Literal["file", "folder", "run"] = "file"
    default_is_standard: bool = False
    is_earlier: Callable[[Path], bool] | None = None
    beside: Callable[[Path], Output] | None = None
    __name__ = "path"  # of a type, in help and errors

    def __call__(self, text: str) -> Path:
        """Return the path, of `-` that of standard output; reject an empty one, which would be this folder."""
        if not text:
            raise typer.BadParameter("expected a path, found an empty one")
        if text == "-":
            return STANDARD_OUTPUT
        return Path(text)

    def outputs(self, path: Path) -> list[Output]:
        """Return what is written for a path."""
        outputs = [Output(self.option, path, self.kind, self.is_earlier)]
        if self.beside is not None and not is_stream(path):
            outputs.append(self.beside(path))
        return outputs


def output(about: str, **settings: Any) -> Any:
    """Return an option that names an output, `--output` if no other is given; settings: of `OutputPath`."""
    reader = OutputPath(**settings)
    if reader.option == "--output":
        names = ["--output", "-o"]
    else:
        names = [reader.option]
    return typer.Option(*names, parser=reader, metavar="PATH", help=about)


Changes = Annotated[
    list[str],
    typer.Option(
        "--set",
        help="Change a key of the recipe: train.steps=100, data_root=data (repeatable).",
    ),
]


def parse_changes(
    changes: list[str], expected: str = "section.key=value, such as train.steps=100"
) -> dict[str, str]:
    """Parse `key=value` strings; `expected` describes them in errors."""
    parsed = {}
    for change in changes:
        key, separator, value = change.partition("=")
        if not separator or not key:
            raise SettingsError(f"--set {change!r}: expected {expected}")
        parsed[key.strip()] = value.strip()
    return parsed


def nested_changes(
    changes: list[str], expected: str, data: JsonObject | None = None
) -> JsonObject:
    """Return settings, `data` or none, with changes by key path: `["a.b=1"]` gives `{"a": {"b": 1}}`."""
    settings = {} if data is None else data
    for key, value in parse_changes(changes, expected).items():
        from interlace.core.store import change

        change(settings, key, value)
    return settings


def settings_of(kind: type[S], options: JsonObject, changes: list[str], example: str) -> S:
    """Return settings with the values of options, and with the changes of `--set`."""
    from_options = {key: value for key, value in options.items() if value not in {None, ""}}
    data = nested_changes(changes, example, {**kind().dump(), **from_options})
    return kind.read(data, "--set")


def comma_separated(text: str) -> list[str]:
    """Return the parts of a comma-separated text, without empty ones."""
    parts = [part.strip() for part in text.split(",")]
    return [part for part in parts if part]


def language_names(text: str, count: int) -> list[str]:
    """Return the comma-separated languages of `--languages`, named as in recipes; none of an empty text.

    count: how many there must be: 1, or 2 for source and target.
    """
    names = comma_separated(text)
    if not names:
        return []
    if len(names) != count:
        expected = (
            "one language, such as en" if count == 1 else "source and target, such as en,de"
        )
        raise SettingsError(f"--languages {text!r}: expected {expected}")
    from interlace.core.names import check_language

    for name in names:
        try:
            check_language(name)
        except ValueError as error:
            raise SettingsError(f"--languages: {error}") from None
    return names


def language_of(path: Path) -> str:
    """Return the language suffix of a file name, `"en"` of `train.en.zst`; empty if unknown."""
    from interlace.text.lines import plain_name
    from interlace.text.scripts import scripts_of

    suffix = plain_name(path).suffix.removeprefix(".")
    return suffix if scripts_of(suffix) else ""


FromLanguage = Annotated[
    str, typer.Option("--from", metavar="LANGUAGE", help="Language of the text.")
]
ToLanguage = Annotated[str, typer.Option("--to", metavar="LANGUAGE", help="Target language.")]
Tokens = Annotated[
    int | None,
    typer.Option(
        "--tokens",
        min=1,
        help="Maximum source tokens per batch, padded, times the beam. "
        "Default: 16384; on a GPU 65536.",
    ),
]
Precision = Annotated[
    Literal["no", "bf16", "auto"],
    typer.Option(
        "--precision",
        help="no: float32; bf16: bfloat16; auto: bfloat16 where the hardware is fast with it.",
    ),
]
Force = Annotated[
    bool,
    typer.Option("--force", help="Translate in a direction that the run was not trained in."),
]


@dataclass(frozen=True, kw_only=True)
class TextOptions:
    """Options of a command that reads parallel text."""

    languages: Annotated[
        str,
        typer.Option(
            "--languages",
            metavar="EN,DE",
            help="Source and target language. Default: those recorded with the alignments, or of the file names.",
        ),
    ] = ""
    reader: Annotated[
        str,
        typer.Option(
            "--reader",
            help="Reader, such as gold or tsv. Default: lines of two files; of one by its suffix, or `|||`.",
            metavar="NAME",
        ),
    ] = ""
    word_tokenizer: Annotated[
        str,
        typer.Option(
            "--word-tokenizer",
            metavar="NAME",
            help="See `interlace list word-tokenizers`. Default: that recorded with the alignments or the aligner; "
            "else unicode for untokenized text, whitespace for tokenized text.",
        ),
    ] = "auto"


@dataclass(frozen=True, kw_only=True)
class AlignedTextOptions(TextOptions):
    """Options of a command that reads parallel text with its alignments."""

    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE",
            help="SRC TGT [ALIGNMENTS], or SRC [ALIGNMENTS] with lines `source ||| target`; aligns if none are given.",
        ),
    ]
    confidence: Annotated[
        Path | None,
        typer.Option(
            "--confidence",
            help="Confidence of each link, as `interlace align --confidence` writes it.",
        ),
    ] = None
    min_confidence: Annotated[
        float,
        typer.Option("--min-confidence", min=0, max=1, help="Minimum confidence of links."),
    ] = 0.0


OUTPUT_FILE = (
    "Output file, gzip by suffix; missing folders are created. Default: standard output."
)
OutputFile = Annotated[Path | None, output(OUTPUT_FILE, default_is_standard=True)]
MaxPhraseLength = Annotated[
    int,
    typer.Option(
        "--max-length",
        min=1,
        max=8,
        help="Maximum phrase length in words, on both sides (ALM: 4).",
    ),
]
MinCount = Annotated[int, typer.Option("--min-count", min=1, help="Minimum count of a pair.")]
Top = Annotated[
    int,
    typer.Option(
        "--top",
        min=0,
        help="Maximum number of translations of a source word or phrase; 0: all.",
    ),
]
NoBorderWords = Annotated[
    bool,
    typer.Option(
        "--no-border-words", help="Exclude phrases that begin or end with an unaligned word."
    ),
]
Muse = Annotated[bool, typer.Option("--muse", help="Omit counts, as in MUSE's dictionaries.")]
