"""Preview the training examples of an objective."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from interlace.cli import Code, completion, load_plugins, print_line

if TYPE_CHECKING:
    from interlace.experiments.preview import PreviewPair
    from interlace.objectives import Objective


def preview(
    objective: Annotated[
        str,
        typer.Argument(
            help="An objective: see `interlace list objectives`.",
            autocompletion=completion("objectives"),
        ),
    ],
    changes: Annotated[
        list[str],
        typer.Option(
            "--set", help="A setting of the objective: --set masking.rate=0.3 (repeatable)."
        ),
    ] = [],
    source: Annotated[
        str, typer.Option("--source", help="A sentence. Default: a built-in example.")
    ] = "",
    target: Annotated[str, typer.Option("--target", help="Its translation.")] = "",
    links: Annotated[
        str,
        typer.Option(
            "--alignments",
            help="Word alignments from 0, such as '0-0 1-2', for your own sentences.",
        ),
    ] = "",
    languages: Annotated[
        str,
        typer.Option("--languages", help="Languages of the two sentences. Default: en,de."),
    ] = "",
    vocab: Annotated[
        str,
        typer.Option(
            "--vocab", help="Tokenizer folder or hub name. Default: every word is one token."
        ),
    ] = "",
    rows: Annotated[int, typer.Option("--rows", min=1, max=100, help="Number of samples.")] = 1,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Random seed.")] = 0,
    embeddings: Annotated[
        bool,
        typer.Option(
            "--language-embeddings", help="Preview for a model with language embeddings (XLM)."
        ),
    ] = False,
    code: Code = [],
) -> None:
    """Show model inputs and prediction targets of an objective on two sentences."""
    load_plugins(code)
    from interlace.cli.common.options import nested_changes
    from interlace.data.vocab import Vocab
    from interlace.objectives import OBJECTIVES
    from interlace.training.preview import preview_batch

    example = _example(languages, source, target, links)
    settings = nested_changes(
        changes, "key=value, such as masking.rate=0.3", {"name": objective}
    )
    built_objective = OBJECTIVES.build(settings, objective)
    if vocab:
        subwords = Vocab.load(vocab)
    else:
        subwords = example.vocab()
    if built_objective.architecture == "seq2seq":
        subwords = subwords.with_target_languages(example.languages)
    previews = {}
    batches = example.batches(
        built_objective, subwords, rows=rows, seed=seed, embeddings=embeddings
    )
    for corpus, batch in batches.items():
        previews[corpus] = preview_batch(batch, subwords, built_objective, corpus.split("-"))
    _print_example(example, built_objective)
    for corpus, preview in previews.items():
        for line in ["", f"{corpus}:", *preview.text()]:
            print_line(line)


def _example(languages: str, source: str, target: str, links: str) -> PreviewPair:
    """Return the sentences to preview: the user's, or the built-in ones with their alignments or the user's."""
    from interlace.cli.common.options import language_names
    from interlace.core.errors import SettingsError
    from interlace.experiments.preview import PreviewPair

    names = language_names(languages, 2)
    if names and names[0] == names[1]:
        raise SettingsError(f"--languages {languages!r}: expected two, such as en,de")
    if bool(source) != bool(target):
        raise SettingsError("give both --source and --target, or neither")
    example = PreviewPair()
    if names:
        example = replace(example, languages=(names[0], names[1]))
    if source:
        return replace(example, source=source, target=target, links=links)
    if links:
        return replace(example, links=links)
    return example


def _print_example(example: PreviewPair, objective: Objective) -> None:
    """Print the sentences, and the dictionary or alignments that the objective uses."""
    print_line(f"{example.languages[0]}: {example.source}")
    print_line(f"{example.languages[1]}: {example.target}")
    pairs = " ".join(f"{source}-{target}" for source, target in example.linked())
    if "lexicon" in objective.needs:
        print_line(f"dictionary: {pairs}")
    elif objective.needs:
        print_line(f"alignments: {pairs}")
