"""Preview the training examples of an objective."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from interlace.cli import Code, Json, load_plugins, print_json, print_line

if TYPE_CHECKING:
    from interlace.experiments.preview import PreviewPair
    from interlace.objectives import Objective


def preview(
    objective: Annotated[str, typer.Argument(help="An objective: see `interlace list objectives`.")],
    changes: Annotated[
        list[str], typer.Option("--set", help="A setting of the objective: --set masking.rate=0.3 (repeatable).")
    ] = [],
    source: Annotated[str, typer.Option("--source", help="A sentence. Default: a built-in example.")] = "",
    target: Annotated[str, typer.Option("--target", help="Its translation.")] = "",
    links: Annotated[
        str, typer.Option("--alignments", help="Word alignments from 0, such as '0-0 1-2', for your own sentences.")
    ] = "",
    languages: Annotated[str, typer.Option("--languages", help="Languages of the two sentences.")] = "en,de",
    word_tokenizer: Annotated[
        str, typer.Option("--word-tokenizer", help="Word tokenizer: see `interlace list word-tokenizers`.")
    ] = "whitespace",
    vocab: Annotated[
        str, typer.Option("--vocab", help="Tokenizer folder or hub name. Default: every word is one token.")
    ] = "",
    rows: Annotated[int, typer.Option("--rows", min=1, max=100, help="Number of samples.")] = 1,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Random seed.")] = 0,
    step: Annotated[int, typer.Option("--step", min=1, help="Step of training, for schedules.")] = 1,
    embeddings: Annotated[
        bool, typer.Option("--language-embeddings", help="Preview for a model with language embeddings (XLM).")
    ] = False,
    code: Code = [],
    as_json: Json = False,
) -> None:
    """Show model inputs and prediction targets of an objective on two sentences."""
    load_plugins(code)
    from interlace.cli.common.options import parse_changes
    from interlace.core.store import change
    from interlace.data.vocab import Vocab
    from interlace.objectives import OBJECTIVES
    from interlace.training.preview import preview_batch

    example = _example(languages, source, target, links, word_tokenizer)
    data: dict[str, Any] = {"name": objective}
    for key, value in parse_changes(changes, "key=value, such as masking.rate=0.3").items():
        change(data, key, value)
    chosen = OBJECTIVES.build(data, objective)
    subwords = Vocab.load(vocab) if vocab else example.vocab()
    if chosen.architecture == "seq2seq":
        subwords = subwords.with_target_languages(example.languages)
    batches = example.batches(chosen, subwords, rows=rows, seed=seed, step=step, embeddings=embeddings)
    drawn = {corpus: preview_batch(batch, subwords, chosen, corpus.split("-")) for corpus, batch in batches}
    if as_json:
        found = {
            corpus: {"rows": [{line.name: line.cells for line in row} for row in one.rows], "notes": one.notes}
            for corpus, one in drawn.items()
        }
        print_json(found)
        return
    lines = _before(example, chosen)
    for corpus, one in drawn.items():
        lines += ["", f"{corpus}:", *one.text()]
    for line in lines:
        print_line(line)


def _example(languages: str, source: str, target: str, links: str, word_tokenizer: str) -> PreviewPair:
    """Return the sentences to preview: the user's, or the built-in ones with their alignments or the user's."""
    from interlace.core.errors import SettingsError
    from interlace.experiments.preview import PreviewPair

    codes = languages.split(",")
    if len(codes) != 2 or not all(codes) or codes[0] == codes[1]:
        raise SettingsError(f"--languages {languages!r}: expected two, such as en,de")
    if bool(source) != bool(target):
        raise SettingsError("give both --source and --target, or neither")
    own: dict[str, Any] = {"source": source, "target": target} if source else {}
    own |= {"links": links} if source or links else {}
    return PreviewPair(languages=(codes[0], codes[1]), word_tokenizer=word_tokenizer, **own)


def _before(example: PreviewPair, objective: Objective) -> list[str]:
    """Return the sentences, and the dictionary or alignments that the objective uses."""
    lines = [f"{example.languages[0]}: {example.source}", f"{example.languages[1]}: {example.target}"]
    pairs = " ".join("-".join(words) for words in example.linked())
    if "lexicon" in objective.needs:
        lines.append(f"dictionary: {pairs}")
    elif objective.needs:
        lines.append(f"alignments: {pairs}")
    return lines
