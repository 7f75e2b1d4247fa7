"""Train a subword vocabulary."""

from pathlib import Path
from typing import Annotated

import typer

from interlace.cli import notes, print_line
from interlace.cli.common import options
from interlace.cli.common.text_files import CODE_OF_FILE, lines_by_language


def vocab(
    files: Annotated[list[str], typer.Argument(help=f"Text files; {CODE_OF_FILE}.")],
    into: Annotated[Path, options.output("Folder for the tokenizer.", kind="folder")],
    size: Annotated[
        int, typer.Option("--size", min=300, help="Vocabulary size, including special tokens.")
    ] = 8000,
) -> None:
    """Train a shared subword vocabulary and save it as a Hugging Face tokenizer."""
    from interlace.data.vocab import Vocab
    from interlace.experiments.sections import VocabSettings

    settings = VocabSettings(size=size)
    lines = lines_by_language(files)
    with notes.status("training the vocabulary"):
        learned = Vocab.learn(
            lines, size=settings.size, alpha=settings.alpha, kind=settings.kind
        )
    learned.save(into)
    print_line(into)
