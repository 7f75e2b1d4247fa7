"""The model card: `model/README.md`, written from a run's own records, so that it says what was done and nothing else.

Its head is what the Hugging Face hub reads. The licence is left to whoever publishes the model: it hangs on that of the
base model and of the text. No path of a machine gets in, only names of files.
"""

from __future__ import annotations

import json
import re
from html import escape
from pathlib import Path
from statistics import mean, stdev
from typing import TYPE_CHECKING, Any

from interlace.core.files import atomic
from interlace.data.cache import content_key
from interlace.data.corpus import ParallelCorpus
from interlace.experiments.recipe import Recipe, directions, tokenizer_of
from interlace.experiments.sections import AlignSettings
from interlace.experiments.word_alignment import needs
from interlace.models.families import SEQ2SEQ
from interlace.training.callbacks import early_stopping_cost
from interlace.training.run_folder import METRICS, RECIPE, RUN, SCORES, read_json

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from interlace.experiments.prepare import AnyCorpus, Materials
    from interlace.experiments.recipe import CorpusGroup, ObjectiveEntry

CARD = "README.md"
_HUB_NAME = re.compile(r"[\w][\w.-]*(/[\w][\w.-]*)?")
_CODE = re.compile(r"[a-z]{2,3}")
_PLACE = "FOLDER-OR-HUB-NAME"
_JUDGED = {"bleu": ", and BLEU of greedy translations,", "round-trip": ", and BLEU of round trips,"}


def write_card(into: Path, about: dict[str, Any] | None = None) -> Path | None:
    """Write the card of a finished run beside its model; again after an evaluation, which adds scores.

    Args:
        into: the run's folder.
        about: the content of its `run.json`, where that is not written yet.

    Returns:
        The card, or None where there is no model or no record of how it was made.
    """
    found, about = read_json(into / RECIPE), about or read_json(into / RUN)
    if not (into / "model" / "config.json").is_file() or found is None or about is None:
        return None
    recipe, about = Recipe.read(found, RECIPE), plain(about)
    config = plain(json.loads((into / "model" / "config.json").read_text(encoding="utf-8")))
    sections = [
        _head(recipe, config),
        _title(recipe, about),
        _loading(recipe, config),
        _data(recipe, about),
        _vocabulary(recipe),
        _objectives(recipe, about),
        _training(recipe, about),
        _perplexities(recipe, about, into),
        _scores(plain(read_json(into / SCORES, []))),
        _versions(about),
    ]
    with atomic(into / "model" / CARD) as partial:
        partial.write_text("\n\n".join(section for section in sections if section) + "\n", encoding="utf-8")
    return into / "model" / CARD


def _head(recipe: Recipe, config: dict[str, Any]) -> str:
    """YAML; strings stand in quotes, for `no` is a language and no truth value."""
    languages = [language.partition("_")[0].lower() for language in recipe.languages]
    codes = [language for language in dict.fromkeys(languages) if _CODE.fullmatch(language)]
    lines = ["---"]
    if codes:
        lines += ["language:", *(f"- {json.dumps(code)}" for code in codes)]
    lines += ["# license: fill in before you publish; it hangs on that of the base model and of the text"]
    if (base := _base(recipe)) is not None:
        lines += [f"base_model: {json.dumps(base)}"]
    task = "translation" if recipe.seq2seq else "text-generation" if recipe.causal else "fill-mask"
    lines += [f"library_name: {library(config)}", f"pipeline_tag: {task}", "tags:"]
    tags = ["interlace", "cross-lingual", *(name.replace("_", "-") for name in recipe.objectives)]
    return "\n".join([*lines, *(f"- {json.dumps(tag)}" for tag in tags), "---"])


def _base(recipe: Recipe) -> str | None:
    """The hub name that a run started from; a folder of somebody's machine is none."""
    start = recipe.model.start
    if start is None or Path(start).expanduser().exists() or not _HUB_NAME.fullmatch(start):
        return None
    return start


def _title(recipe: Recipe, about: dict[str, Any]) -> str:
    start = recipe.model.start
    if start is None:
        begun = "It was trained from scratch"
    else:
        base = _base(recipe)
        begun = (
            f"It goes on from [{base}](https://huggingface.co/{base})" if base else f"It goes on from `{leaf(start)}`"
        )
    said = f"{begun} with interlace, on {', '.join(recipe.languages)}.{origin(recipe)}{_table(about)}"
    return "\n\n".join(part for part in (f"# {plain(recipe.name)}", plain(recipe.about), said) if part)


def _table(about: dict[str, Any]) -> str:
    """What its table of subwords began with, where that was learnt by itself."""
    began = about.get("initialization", {}).get("vectors")
    if began is None:
        return ""
    share = f"{whole(began['rows'])} of {whole(began['of'])} rows of its table of subwords"
    return f" When training began, {share} were vectors that had been learnt by themselves."


def _loading(recipe: Recipe, config: dict[str, Any]) -> str:
    if recipe.seq2seq:
        return "\n\n".join(["## How to load it", *loading(recipe, config, _PLACE)])
    kind = "AutoModelForCausalLM" if recipe.causal else "AutoModelForMaskedLM"
    code = code_block(
        "python",
        f"from transformers import {kind}, AutoTokenizer",
        f'model = {kind}.from_pretrained("{_PLACE}")',
        f'tokenizer = AutoTokenizer.from_pretrained("{_PLACE}")',
    )
    return "\n\n".join(["## How to load it", code, *_languages(recipe, config)])


def _languages(recipe: Recipe, config: dict[str, Any]) -> Iterator[str]:
    rows = config.get("interlace_languages") or config.get("lang2id") or {}
    xlm = config.get("model_type") == "xlm"
    if not rows or (xlm and not (config.get("use_lang_emb", True) and config.get("n_langs", 1) > 1)):
        return
    given = "langs" if xlm else "token_type_ids"
    ids = ", ".join(f"{language} {row}" for language, row in sorted(rows.items(), key=lambda pair: pair[1]))
    folded = recipe.export.fold_language
    without = f"A call without them gets {folded}." if folded else "A call without them gets no language's vector."
    yield f"The model adds a vector of the language to every subword. Give its number as `{given}`: {ids}. {without}"


def _data(recipe: Recipe, about: dict[str, Any]) -> str:
    rows = []
    for entry in about.get("data", []):
        files = [f"`{file['name']}` ({whole(file['bytes'])} bytes, {file['digest']})" for file in entry["files"]]
        left_out = ", ".join(f"{what}: {whole(count)}" for what, count in entry["left_out"].items()) or "nothing"
        rows.append(
            [
                f"{'-'.join(entry['languages'])} ({'held out' if entry['split'] == 'dev' else 'training'})",
                whole(entry["rows"]),
                whole(entry["subwords"]),
                left_out,
                "<br>".join(files) or "interlace's toy corpus",
            ]
        )
    lines = ["## Data", table(["text", "rows", "subwords", "left out", f"files ({DIGEST})"], rows)]
    rules = [f"`{name}`{_settings(values)}" for name, values in recipe.filters.items()]
    lines += [f"Filters for training text, in turn: {'; '.join(rules)}."] if rules else []
    aligners = dict.fromkeys(entry["aligner"] for entry in about.get("data", []) if "aligner" in entry)
    if aligners:
        own = _settings(recipe.align.settings) if recipe.align is not None else ""
        lines.append(f"Words were linked by the aligner `{', '.join(aligners)}`{own}.")
    return "\n\n".join(lines)


def _vocabulary(recipe: Recipe) -> str:
    vocab = recipe.vocab
    start = tokenizer_of(recipe)
    if start is None:
        said = f"{whole(vocab.size)} subwords at most (`{vocab.kind}`), learnt from the training text."
    elif vocab.extend:
        said = (
            f"That of `{leaf(start)}`, whose ids stay, and up to {whole(vocab.extend)} subwords learnt from the "
            f"training text; their embeddings began {_began(recipe)}."
        )
    else:
        said = f"That of `{leaf(start)}`, unchanged."
    if recipe.seq2seq:
        said += f" Each language has a special subword, such as `<2{recipe.languages[0]}>`, that asks for it."
    return f"## Vocabulary\n\n{said}"


def _began(recipe: Recipe) -> str:
    if recipe.model.new_tokens == "mean":
        return "as the mean of those that spelt them before"
    return "as draws about the mean of the table"


def _objectives(recipe: Recipe, about: dict[str, Any]) -> str:
    tokens = about.get("mixture", {}).get("objectives", {})
    total = max(sum(tokens.values()), 1)
    rows = []
    for name, entry in recipe.objectives.items():
        what = (type(recipe.objective(name)).__doc__ or "").strip().partition("\n")[0]
        share = f"{100 * tokens.get(name, 0) / total:.1f} %"
        rows.append([f"`{name}`", what, entry.weight, share, _changed(recipe, name, entry)])
    return "## What it learnt from\n\n" + table(["objective", "", "weight", "share of subwords", "settings"], rows)


def _changed(recipe: Recipe, name: str, entry: ObjectiveEntry) -> str:
    """The settings that are not the default ones, and the corpora it was held to."""
    objective = recipe.objective(name)
    default = dict(flat(type(objective)().dump()))
    own = {key: value for key, value in flat(objective.dump()) if value != default.get(key)}
    if entry.corpora:
        own["corpora"] = ", ".join(entry.corpora)
    return ", ".join(f"{key} = {leaf(value)}" for key, value in own.items()) or "default"


def _training(recipe: Recipe, about: dict[str, Any]) -> str:
    train, optimizer = recipe.train, recipe.train.optimizer
    batch = train.tokens_per_batch * train.micro_batches * int(about.get("processes", 1))
    facts = {
        "steps": whole(about["steps"]) + (f" ({about['stopped']})" if about.get("stopped") else ""),
        "real subwords": whole(about["tokens"]),
        "subwords an update, padding included": whole(batch),
        "optimiser": f"AdamW, betas {', '.join(map(str, optimizer.betas))}, weight decay {optimizer.weight_decay}",
        "learning rate": f"{optimizer.learning_rate:g}, {optimizer.schedule}, {whole(optimizer.warmup)} steps of warm-up",
        "precision": about.get("precision") or train.precision,
        "seed": str(recipe.seed),
        "parameters while training": whole(about["parameters"]),
    }
    return "## Training\n\n" + table(["", ""], [[key, value] for key, value in facts.items()])


def _perplexities(recipe: Recipe, about: dict[str, Any], into: Path) -> str:
    """Of the exported weights: with early stopping those of the best evaluation, else of the last."""
    path = into / METRICS
    lines = path.read_text(encoding="utf-8").split("\n") if path.is_file() else []
    measured = [row for row in (plain(json.loads(line)) for line in lines if line) if row["kind"] == "evaluation"]
    if not measured:
        return ""
    last = measured[-1]
    if recipe.train.patience:
        last = min(measured, key=lambda row: early_stopping_cost(row["scores"], recipe.train.stop_by))
    unit = about.get("perplexity_unit", "")
    found: dict[str, dict[str, str]] = {}
    for name, value in last["scores"].items():
        kind, _, language = name.rpartition("/")
        if kind.endswith("perplexity") or kind in _JUDGED:
            found.setdefault(kind.replace("_", " "), {})[language] = f"{value:.2f}"
    languages = list(dict.fromkeys(language for row in found.values() for language in row))
    rows = [[kind, *(row.get(language, "") for language in languages)] for kind, row in found.items()]
    bleu = "".join(said for kind, said in _JUDGED.items() if kind in found)
    said = f"## Held-out text\n\nPerplexity {unit}{bleu} after step {last['step']}.\n\n"
    return said + table(["", *languages], rows) if rows else ""


def _scores(rows: list[dict[str, Any]]) -> str:
    """A row a task, a column a language: mean over seeds, and their standard deviation where there are several."""
    if not rows:
        return ""
    tasks = list(dict.fromkeys((row["task"], row["metric"]) for row in rows))
    languages = list(dict.fromkeys(row["language"] for row in rows))
    lines = []
    for task, metric in tasks:
        cells = []
        for language in languages:
            found = [row for row in rows if (row["task"], row["language"]) == (task, language)]
            cells.append(mean_and_spread([float(row["score"]) for row in found]))
        one = next(row for row in rows if row["task"] == task)
        seeds = len({row["seed"] for row in rows if row["task"] == task})
        lines.append([task, f"{metric} ({one['unit']})" if one.get("unit") else metric, plural(seeds, "seed"), *cells])
    sources = ", ".join(dict.fromkeys(str(row.get("source", "")) for row in rows))
    said = f"Tasks that are fine-tuned learn from {sources} alone; other languages are scored zero-shot."
    return f"## Scores\n\n{said}\n\n" + table(["task", "metric", "seeds", *languages], lines)


def _versions(about: dict[str, Any]) -> str:
    names = ("interlace", "python", "torch", "transformers", "device", "finished")
    return "## Made with\n\n" + ", ".join(f"{name} {about[name]}" for name in names if about.get(name)) + "."


def _settings(values: dict[str, Any]) -> str:
    said = ", ".join(f"{key} = {leaf(value)}" for key, value in flat(values))
    return f" ({said})" if said else ""


# FROM _card_data:
# What a run was trained on, for its records and its model card: files by name and hash, sizes, what was left out.


DIGEST = "BLAKE2b, 128 bit"


def data_of(recipe: Recipe, materials: Materials) -> list[dict[str, Any]]:
    """A row a corpus and split: its files without the folders they stand in, its rows and subwords, who linked it."""
    rows = []
    for name, group in recipe.corpora.items():
        for corpus, key in zip([*group.languages, *group.pairs], materials.groups[name], strict=True):
            for split, built in (("train", materials.train), ("dev", materials.dev)):
                if key in built:
                    row = _row(recipe, group, corpus, split, built[key], materials.root)
                    if split == "train" and isinstance(built[key], ParallelCorpus) and needs(recipe, name, key):
                        row["aligner"] = (recipe.align or AlignSettings()).name
                    rows.append({"corpus": key, "group": name, **row})
    return rows


def _row(recipe: Recipe, group: CorpusGroup, corpus: str, split: str, built: AnyCorpus, root: Path) -> dict[str, Any]:
    paths = [] if recipe.toy is not None else group.files(split, corpus, root)
    notes = {"empty": built.meta.get("skipped", 0), **(built.meta.get("notes") or {})}
    return {
        "split": split,
        "languages": corpus.split("-"),
        "rows": len(built),
        "subwords": sum(built.counts["subwords"].values()),
        "left_out": {what: count for what, count in notes.items() if count},
        "files": [{"name": path.name, "bytes": path.stat().st_size, "digest": content_key(path)} for path in paths],
    }


# FROM _card_text:
# Markdown for model cards.


def table(head: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """A table; bars and line ends in cells are made harmless."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(_cell(cell) for cell in line)} |" for line in lines)


def code_block(language: str, *lines: str) -> str:
    """Fenced code."""
    return "\n".join([f"```{language}", *lines, "```"])


def whole(number: float) -> str:
    """`12,345`."""
    return f"{round(number):,}"


def plural(number: int, noun: str) -> str:
    """`1 seed`, `3 seeds`."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def mean_and_spread(values: Sequence[float]) -> str:
    """`81.3 ± 0.4`, a value by itself, or nothing."""
    if not values:
        return ""
    if len(values) == 1:
        return f"{values[0]:.4g}"
    return f"{mean(values):.4g} ± {stdev(values):.2g}"


def plain(data: Any) -> Any:
    """Text that somebody wrote, also inside lists and mappings, as it may stand in a card: no HTML, no end of code."""
    if isinstance(data, str):
        return escape(data, quote=False).replace("`", "'")
    if isinstance(data, dict):
        return {plain(key): plain(value) for key, value in data.items()}
    return [plain(value) for value in data] if isinstance(data, list | tuple) else data


def leaf(value: Any) -> str:
    """A value to show; of a path only the last part, for cards tell nothing of a machine."""
    if isinstance(value, str):
        return str(plain(value.rstrip("/\\").replace("\\", "/").rpartition("/")[2]))
    if isinstance(value, list | tuple):
        return ", ".join(map(leaf, value))
    return str(value).lower() if isinstance(value, bool) else str(value)


def flat(data: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """`a.b` and value of each leaf."""
    if isinstance(data, dict):
        for key, value in data.items():
            yield from flat(value, f"{path}.{key}" if path else str(key))
    else:
        yield plain(path), data


def _cell(value: Any) -> str:
    return " ".join(str(value).replace("|", "\\|").split())


# FROM _card_translation:
# What a card says of a translation model: directions, how it is opened, and how its decoder is asked.


_PLAIN = SEQ2SEQ[0]


def library(config: Mapping[str, Any]) -> str:
    """Whose class opens a model with this configuration."""
    return "interlace" if config.get("model_type") == SEQ2SEQ[1] else "transformers"


def origin(recipe: Recipe) -> str:
    """Where the decoder comes from, where that is not where the encoder does."""
    decoder = recipe.model.decoder
    if not recipe.seq2seq or decoder is None:
        return ""
    if decoder.shape is not None or decoder.take == "none":
        trained = decoder.embeddings == "shared" and recipe.model.start is not None and recipe.model.take != "none"
        but = ", but for the table of subwords, which is the encoder's" if trained else ""
        return f" Its decoder was drawn fresh{but}."
    what = "" if decoder.take == "whole" else "the table of subwords of "
    return f" Its decoder began from {what}`{leaf(decoder.start)}`." if decoder.start is not None else ""


def loading(recipe: Recipe, config: Mapping[str, Any], place: str) -> Iterator[str]:
    """Paragraphs and code."""
    learnt = list(directions(recipe))
    source, target = learnt[0] if learnt else (recipe.languages[0], recipe.languages[-1])
    if learnt:
        yield f"It translates {', '.join('-'.join(direction) for direction in learnt)}."
    yield code_block("sh", f"interlace translate {place} --from {source} --to {target} < in.txt > out.txt")
    yield from _plain(config, target, place) if config.get("model_type") == _PLAIN else _own(place)


def _plain(config: Mapping[str, Any], target: str, place: str) -> Iterator[str]:
    yield f"In plain transformers, the decoder's first subword says which language it writes, such as `<2{target}>`:"
    rows = config.get("encoder", {}).get("interlace_languages") or {}
    given = [
        "from transformers import AutoTokenizer, EncoderDecoderModel",
        f'model = EncoderDecoderModel.from_pretrained("{place}")',
        f'tokenizer = AutoTokenizer.from_pretrained("{place}")',
        'read = tokenizer("...", return_tensors="pt")',
        f'start = tokenizer.convert_tokens_to_ids("<2{target}>")',
        f"written = model.generate(**read, decoder_start_token_id=start, num_beams=4, max_new_tokens={_most(config)})",
        "print(tokenizer.batch_decode(written, skip_special_tokens=True))",
    ]
    yield code_block("python", *given)
    if rows:
        ids = ", ".join(f"{language} {row}" for language, row in sorted(rows.items(), key=lambda pair: pair[1]))
        yield (
            f"The model adds a vector of the language to every subword on both sides. Give their numbers as "
            f"`token_type_ids`, as long as what is read, and as `decoder_token_type_ids`, one a row: {ids}."
        )


def _most(config: Mapping[str, Any]) -> int:
    """Subwords that may follow the first; RoBERTa keeps the positions up to the padding's."""
    decoder = config.get("decoder", {})
    kept = int(decoder.get("pad_token_id") or 0) + 1 if "roberta" in str(decoder.get("model_type")) else 0
    return min(100, int(decoder.get("max_position_embeddings", 101)) - kept - 1)


def _own(place: str) -> Iterator[str]:
    yield "transformers has no such decoder: interlace opens the model, and transformers its encoder."
    yield code_block(
        "python",
        "from interlace.models.build import load",
        "from transformers import AutoModel, AutoTokenizer",
        f'model = load("{place}")',
        f'encoder = AutoModel.from_pretrained("{place}", subfolder="encoder")',
        f'tokenizer = AutoTokenizer.from_pretrained("{place}", subfolder="encoder")',
    )
