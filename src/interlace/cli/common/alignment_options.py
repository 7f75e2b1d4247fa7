"""Options and arguments of `align`, `phrases`, `lexicon` and `code-switch`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Linked = Annotated[
    list[Path],
    typer.Argument(
        metavar="FILE",
        help="SRC TGT [ALIGNMENTS], or SRC [ALIGNMENTS] with lines `source ||| target`; aligns if none are given.",
    ),
]
Languages = Annotated[
    str, typer.Option("--languages", metavar="EN,DE", help="Source and target language. Default: from the file names.")
]
WordTokenizerName = Annotated[
    str,
    typer.Option("--word-tokenizer", help="Word tokenizer: see `interlace list word-tokenizers`.", metavar="NAME"),
]
ReaderName = Annotated[
    str,
    typer.Option(
        "--reader",
        help="Reader, such as gold or tsv. Default: lines of two files, or `|||` in one.",
        metavar="NAME",
    ),
]
Into = Annotated[
    Path | None, typer.Option("--output", "-o", help="Output file, gzip by suffix. Default: standard output.")
]
Summary = Annotated[bool, typer.Option("--json", help="Print counts and scores as JSON; requires --output.")]
SourceFile = Annotated[Path, typer.Argument(metavar="SRC", help="Source text; without TGT, lines `source ||| target`.")]
TargetFile = Annotated[
    Path | None,
    typer.Argument(metavar="TGT", help="Target text, line by line a translation of SRC.", show_default=False),
]
With = Annotated[
    str, typer.Option("--aligner", help="Aligner: see `interlace list aligners`. Default: gibbs.", metavar="NAME")
]
Changes = Annotated[
    list[str],
    typer.Option("--set", help="A setting of the aligner, such as seed=1 (repeatable).", metavar="KEY=VALUE"),
]
Symmetrization = Annotated[
    str,
    typer.Option("--symmetrization", help="Symmetrization heuristic, such as grow-diag-final-and.", metavar="NAME"),
]
Extra = Annotated[
    tuple[Path, Path] | None,
    typer.Option(
        "--extra", help="More parallel text to train on, two files; its alignments are not written.", metavar="SRC TGT"
    ),
]
Priors = Annotated[
    Path | None,
    typer.Option("--priors", help="Prior dictionary: source, tab, target, optionally a tab and a count."),
]
Use = Annotated[Path | None, typer.Option("--load-model", help="Align with this saved model, without training.")]
Model = Annotated[Path | None, typer.Option("--save-model", help="Save the trained aligner in this folder.")]
GoldFile = Annotated[Path | None, typer.Option("--gold", help="Gold alignments: prints precision, recall, F1 and AER.")]
Confidence = Annotated[
    Path | None,
    typer.Option("--confidence", help="Output file for the confidence of each link, one line per pair."),
]
Figure = Annotated[Path | None, typer.Option("--figure", help="Draw the alignment of one pair: FILE.svg or FILE.png.")]
PairNumber = Annotated[int, typer.Option("--pair", min=1, help="Line number of the drawn pair, from 1.")]
Grades = Annotated[
    Path | None,
    typer.Option("--confidence", help="Confidence of each link, as `interlace align --confidence` writes it."),
]
LeastConfidence = Annotated[float, typer.Option("--min-confidence", min=0, max=1, help="Minimum confidence of links.")]
Longest = Annotated[
    int, typer.Option("--max-length", min=1, max=20, help="Maximum phrase length in words, on both sides (ALM: 4).")
]
LeastCount = Annotated[int, typer.Option("--min-count", min=1, help="Minimum count of a pair.")]
Top = Annotated[
    int, typer.Option("--top", min=0, help="Maximum number of translations of a source word or phrase; 0: all.")
]
Tight = Annotated[
    bool, typer.Option("--no-border-words", help="Exclude phrases that begin or end with an unaligned word.")
]
Mutual = Annotated[bool, typer.Option("--mutual", help="Only mutually most frequent translations.")]
WordsOnly = Annotated[bool, typer.Option("--words", help="Only words that contain a letter.")]
Muse = Annotated[bool, typer.Option("--muse", help="Omit counts, as in MUSE's dictionaries.")]
