"""Options and arguments of the commands that align: `align`, `phrases`, `lexicon`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Linked = Annotated[
    list[Path],
    typer.Argument(metavar="FILE", help="SRC TGT LINKS: two text files and the links of each line; or SRC LINKS."),
]
Languages = Annotated[
    str, typer.Option("--languages", metavar="EN,DE", help="Of source and target; none: as the files' names end.")
]
WordTokenizerName = Annotated[
    str,
    typer.Option(
        "--word-tokenizer", help="What finds the words: see `interlace list word-tokenizers`.", metavar="NAME"
    ),
]
ReaderName = Annotated[
    str,
    typer.Option(
        "--reader",
        help="What reads the text, such as gold, tsv; none: lines of two files, `|||` in one.",
        metavar="NAME",
    ),
]
Into = Annotated[
    Path | None, typer.Option("--output", "-o", help="A file for the result, gzip by suffix; none: standard output.")
]
Summary = Annotated[bool, typer.Option("--json", help="Print counts and scores as JSON; the result needs --output.")]
SourceFile = Annotated[
    Path, typer.Argument(metavar="SRC", help="A text file; without TGT one of `source ||| target` lines.")
]
TargetFile = Annotated[
    Path | None, typer.Argument(metavar="TGT", help="The file whose lines translate those of SRC.", show_default=False)
]
With = Annotated[
    str, typer.Option("--aligner", help="The aligner: see `interlace list aligners`; none: gibbs.", metavar="NAME")
]
Changes = Annotated[
    list[str],
    typer.Option("--set", help="A setting of the aligner, such as seed=1 (repeatable).", metavar="KEY=VALUE"),
]
Symmetrization = Annotated[
    str,
    typer.Option(
        "--symmetrization", help="How both directions are joined, such as grow-diag-final-and.", metavar="NAME"
    ),
]
Extra = Annotated[
    tuple[Path, Path] | None,
    typer.Option("--extra", help="More text to learn from, two files; it gets no links.", metavar="SRC TGT"),
]
Priors = Annotated[
    Path | None,
    typer.Option("--priors", help="A dictionary to start from: source, tab, target, and perhaps a tab and a count."),
]
Use = Annotated[Path | None, typer.Option("--load-model", help="Link by this saved model, and learn nothing.")]
Model = Annotated[Path | None, typer.Option("--save-model", help="Save what was learnt in this folder.")]
GoldFile = Annotated[
    Path | None, typer.Option("--gold", help="Links that people drew, a row a line: prints precision, recall, F1, AER.")
]
Confidence = Annotated[
    Path | None,
    typer.Option("--confidence", help="A file for the probability of each link, a line a pair."),
]
Figure = Annotated[Path | None, typer.Option("--figure", help="Draw the links of one pair: FILE.svg or FILE.png.")]
PairNumber = Annotated[int, typer.Option("--pair", min=1, help="The line that is drawn, from 1.")]
Grades = Annotated[
    Path | None, typer.Option("--confidence", help="The probability of each link, as `interlace align` writes it.")
]
LeastConfidence = Annotated[
    float, typer.Option("--min-confidence", min=0, max=1, help="Leave out links that are less sure than this.")
]
Longest = Annotated[
    int, typer.Option("--max-length", min=1, max=20, help="Most words of a phrase, on both sides (ALM: 4).")
]
LeastCount = Annotated[int, typer.Option("--min-count", min=1, help="Least times that a pair was seen.")]
Top = Annotated[int, typer.Option("--top", min=0, help="Most translations of a source word or phrase; 0: all.")]
Tight = Annotated[
    bool, typer.Option("--no-border-words", help="No phrase begins or ends with a word that has no link.")
]
Mutual = Annotated[bool, typer.Option("--mutual", help="Only words that are each other's most frequent translation.")]
WordsOnly = Annotated[bool, typer.Option("--words", help="Only words with a letter in them.")]
Muse = Annotated[bool, typer.Option("--muse", help="Without counts, as in MUSE's dictionaries.")]
