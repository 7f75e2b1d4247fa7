"""Apply a fine-tuned model to text."""

from __future__ import annotations

import logging
import sys
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from interlace.cli import Code, load_plugins, print_line
from interlace.cli.common import options
from interlace.cli.common.windows import window_size, windows_to
from interlace.core.files import must_exist
from interlace.text.lines import lines_of, plain_name, read_lines

if TYPE_CHECKING:
    from interlace.experiments.predict import Predictions

log = logging.getLogger(__name__)


def predict(
    run: Annotated[
        Path,
        typer.Argument(
            metavar="RUN",
            help="A run's folder (or of scores) with saved models, or a fine-tuned model.",
        ),
    ],
    task: Annotated[
        str, typer.Option("--task", help="Task of the model. Default: the only one that is saved.")
    ] = "",
    input_: Annotated[
        Path | None,
        typer.Option(
            "--input",
            help="Input file, gzip by suffix; .json: questions in SQuAD's format. Default: standard input.",
        ),
    ] = None,
    into: options.OutputFile = None,
    language: Annotated[
        str,
        typer.Option(
            "--language", metavar="CODE", help="Language of the text. Default: the source language."
        ),
    ] = "",
    setting: Annotated[
        str,
        typer.Option(
            "--setting", help="Evaluation setting of the model, such as supervised. Default: any."
        ),
    ] = "",
    seed: Annotated[
        int | None, typer.Option("--seed", min=0, help="Seed of the model. Default: the lowest.")
    ] = None,
    word_tokenizer: Annotated[
        str,
        typer.Option(
            "--word-tokenizer",
            metavar="NAME",
            help="Finds the words to tag: by_language (default), or whitespace for tokenized text.",
        ),
    ] = "",
    window: Annotated[
        int | None,
        typer.Option(
            "--window",
            min=1,
            help="Lines per window, read before predicting (2000; at a terminal 1).",
        ),
    ] = None,
    precision: Annotated[
        Literal["no", "bf16", "auto"] | None,
        typer.Option(
            "--precision", help="no: float32; bf16: bfloat16. Default: that of the evaluation."
        ),
    ] = None,
    code: Code = [],
) -> None:
    """Apply a fine-tuned model of `interlace evaluate --save-models`: interlace predict RUN --task ner < in > out.

    Tagging reads a sentence a line, and writes `word<TAB>tag` lines with an empty line after each sentence.
    Classification of pairs reads `first<TAB>second`, and writes a table of the label and the probability of each class.
    Question answering reads `question<TAB>passage` and writes an answer a line, or reads SQuAD's JSON and writes
    `id<TAB>answer`.
    """
    load_plugins(code)
    if input_ is not None:
        must_exist(input_)
    from interlace.experiments.predict import Predictor, choose_model

    model = choose_model(run, task, language, setting, seed)
    log.info("applying %s", model.folder)
    predictor = Predictor(model.folder, language, word_tokenizer, precision or "")
    if input_ is not None and plain_name(input_).suffix == ".json":
        parts = predictor.answers(input_)
    else:
        if input_ is None:
            lines = lines_of(sys.stdin.buffer, "standard input")
        else:
            lines = read_lines(input_)
        parts = predictor.windows(lines, window_size(window, input_))
    _write(predictor.head_line, parts, into)
    if into is not None:
        print_line(into)


def _write(head_line: str, parts: Iterable[Predictions], into: Path | None) -> None:
    """Write all predictions, with progress, and warn of what was not predicted."""
    done = 0
    notes = Counter[str]()
    with windows_to(into, "predicting") as write:
        if head_line:
            write([head_line], done)
        for part in parts:
            done += part.count
            notes.update(part.notes)
            write(part.lines, done)
    for note, count in notes.items():
        if count:
            log.warning("%s: %s", note, f"{count:,}")
