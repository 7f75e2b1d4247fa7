"""Recommend objectives for a user's data, with reasons and results, and write a study that compares them.

The study continues a checkpoint, or trains a small model from scratch, with MLM and each objective that fits, on the
same text and for the same steps, and compares sentence retrieval on pairs that it holds out, over five seeds.
"""

import json
import logging
import re
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from functools import cache
from itertools import combinations, islice
from pathlib import Path
from typing import Any

import numpy as np

from interlace.alignment.lexicon import Lexicon
from interlace.core.errors import DataError, SettingsError
from interlace.core.files import atomic_folder, must_be_replaceable, must_exist
from interlace.core.randomness import Purpose, generator
from interlace.data import Pairs
from interlace.data.inspection import inspect_file, word_tokenizer_for
from interlace.data.vocab import Vocab
from interlace.experiments.recipe import Recipe
from interlace.experiments.template import toml_value
from interlace.objectives import OBJECTIVES
from interlace.scores.findings import MAX_FAMILY
from interlace.scores.published import find_rows
from interlace.text import Text
from interlace.text.lines import read_lines, write_lines, writing

log = logging.getLogger(__name__)
STUDY, RECIPE_FILE = "study.toml", "recipe.toml"
CONTENTS = (RECIPE_FILE, "text*.*", "heldout.*")  # of a folder with a study, beside STUDY
_TRAIN = "text{number}.{language}"
_HELD_OUT = "heldout.{source}-{target}.{language}"
SEEDS = 5  # an exact permutation test of fewer runs cannot find p < 0.05 after correction
_SAMPLE = 1000  # lines whose subwords are counted
_MAX_HELD_OUT, _HELD_OUT_SHARE = 1000, 0.05
_MIN_PAIRS = 1000
_MIN_HELD_OUT = 100  # pairs; retrieval among fewer says little, and they may not fill a sequence for perplexity
_TOKENS_PER_BYTE = 0.25
_PASSES = 3  # over the text, in the default number of steps
_MAX_STEPS = 20_000
_BASELINE = "mlm"
_SCRATCH = {
    "shape": {"family": "modernbert", "layers": 4, "width": 128, "heads": 4, "max_length": 256, "init_std": 0.09}
}


@dataclass(frozen=True)
class TextFile:
    """A file with a sentence per line. language: from its name. bytes: uncompressed."""

    path: Path
    language: str
    lines: int
    bytes: int

    @property
    def stem(self) -> Path:
        """The path without the language, which translations share."""
        return self.path.parent / re.sub(rf"\.{re.escape(self.language)}(\.\w+)?$", "", self.path.name)

    def held_out_rows(self) -> set[int]:
        """Return a random sample of line numbers, the same for all files with as many lines."""
        return {*generator(Purpose.SAMPLE, 0, self.lines).choice(self.lines, self.held_out, replace=False).tolist()}

    @property
    def held_out(self) -> int:
        """Lines that the study holds out."""
        return min(_MAX_HELD_OUT, int(_HELD_OUT_SHARE * self.lines))


@dataclass(frozen=True)
class Coverage:
    """How the checkpoint's vocabulary cuts a language: subwords per word, and the share of unknown ones in percent."""

    subwords_per_word: float
    unknown: float


@dataclass(frozen=True)
class Advice:
    """Whether an objective fits. evidence: of papers and own runs."""

    objective: str
    fits: bool
    why: str
    evidence: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Recommendation:
    """The data found, the advice, and the recipe of each objective that fits."""

    files: list[TextFile]
    pairs: list[tuple[TextFile, TextFile]]
    word_tokenizer: str
    coverage: dict[str, Coverage]
    advice: list[Advice]
    notes: list[str]
    steps: int
    recipes: dict[str, dict[str, Any]]

    def dump(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        found = {key: value for key, value in asdict(self).items() if key != "recipes"}
        return json.loads(json.dumps(found, default=str))  # type: ignore[no-any-return]


def recommend(
    files: Sequence[TextFile],
    *,
    start: str | None = None,
    dictionary: Path | None = None,
    steps: int | None = None,
) -> Recommendation:
    """Examine files and a checkpoint, and return what fits them.

    Files of one stem (`train.en`, `train.de`) with equal numbers of lines are translations of each other.

    files: of `text_files`. start: a checkpoint to continue; default: a small model from scratch.
    dictionary: in MUSE's format, for objectives with a lexicon. steps: default: three passes, at most 20,000.
    """
    pairs = _pairs(files)
    entries = 0 if dictionary is None else len(Lexicon.read(must_exist(dictionary, "dictionary")))
    samples = {one.language: list(islice(read_lines(one.path), _SAMPLE)) for one in files}
    tokenizer = word_tokenizer_for(*(Text.of(lines, language) for language, lines in samples.items()))
    coverage = {} if start is None else _coverage(Vocab.load(start), samples, tokenizer)
    tokens_per_update = 16_384 if start else 4_096
    total = sum(one.bytes for one in files) * _TOKENS_PER_BYTE
    steps = steps or int(np.clip(_PASSES * total / tokens_per_update, 100, _MAX_STEPS))
    base = _base_recipe(files, pairs, start, dictionary, tokenizer, steps, tokens_per_update)
    advice, recipes = [], {}
    for name in sorted(OBJECTIVES.names(), key=lambda name: name != _BASELINE):  # the baseline is the first recipe
        why, fits = _fit(name, pairs, start, entries)
        if fits:
            recipes[name] = _with_objective(base, name, dictionary)
            Recipe.read(recipes[name], name)  # for its errors
        advice.append(Advice(name, fits, why, list(_evidence(name))))
    advice.sort(key=lambda each: not each.fits)
    return Recommendation(
        list(files), pairs, tokenizer, coverage, advice, list(_notes(files, pairs, coverage)), steps, recipes
    )


def text_files(paths: Sequence[Path], languages: Sequence[str]) -> list[TextFile]:
    """Return files with their languages and sizes; raise an error if one has no text or its language is unknown."""
    if len(languages) != len(paths):
        raise SettingsError(f"expected a language for each of {len(paths)} files, found {len(languages)}")
    found = []
    for path, language in zip(paths, languages, strict=True):
        if not language:
            raise SettingsError(f"{path}: the language is unknown; name files like train.en, or give --languages")
        report = inspect_file(must_exist(path))
        errors = [finding.about for finding in report.findings if finding.level == "error"]
        if errors:
            raise DataError(f"{path}: {errors[0]}")
        found.append(TextFile(path, language, report.facts["lines"], report.facts["bytes"]))
    return found


def write_study(found: Recommendation, into: Path) -> Path:
    """Write recipe, study and held-out text into a folder; return the study file."""
    if not found.pairs or len(found.recipes) < 2:
        raise SettingsError("a study compares objectives on held-out pairs; the files hold no translations")
    for source, target in found.pairs:
        if source.held_out < _MIN_HELD_OUT:
            name, needed = f"{source.path.name} and {target.path.name}", int(_MIN_HELD_OUT / _HELD_OUT_SHARE)
            raise SettingsError(f"{name}: {source.lines:,} pairs; a study holds out 5 %, and needs at least {needed:,}")
    must_be_replaceable(into, STUDY, "study", CONTENTS)
    with atomic_folder(into) as partial:
        _write_text(found, partial)
        (partial / RECIPE_FILE).write_text("\n".join(_recipe_lines(found)) + "\n", encoding="utf-8")
        (partial / STUDY).write_text("\n".join(_study_lines(found, into)) + "\n", encoding="utf-8")
    return into / STUDY


def _pairs(files: Sequence[TextFile]) -> list[tuple[TextFile, TextFile]]:
    found = [(a, b) for a, b in combinations(files, 2) if a.stem == b.stem and a.language != b.language]
    for one, other in found:
        if one.lines != other.lines:
            counts = f"{one.path} has {one.lines:,} lines, {other.path} {other.lines:,}"
            raise DataError(f"{counts}; expected as many (rename text that is no translation)")
    english = [(b, a) if b.language == "en" else (a, b) for a, b in found]
    return english if len({a.language for a, _ in english}) == 1 else found


def _write_text(found: Recommendation, into: Path) -> None:
    """Write a random sample of each corpus of pairs as held-out text, and the rest of all files as training text.

    Training text has no line that is a copy of a held-out one, and no pair with one.
    """
    rows, held = {one: one.held_out_rows() for pair in found.pairs for one in pair}, dict[str, set[str]]()
    for name, sides in _held_out(found.pairs).items():
        sample = [line for one in sides for row, line in enumerate(read_lines(one.path)) if row in rows[one]]
        held.setdefault(sides[0].language, set()).update(sample)
        write_lines(into / name, sample)
    for number, one in enumerate(found.files):
        group = [other for other in rows if other.stem == one.stem] if one in rows else [one]
        known, side, copies = [held.get(other.language, ()) for other in group], group.index(one), 0
        with writing(into / _TRAIN.format(number=number, language=one.language)) as write:
            for row, lines in enumerate(zip(*(read_lines(other.path) for other in group), strict=True)):
                copied = any(line in there for line, there in zip(lines, known, strict=True))
                chosen = row in rows.get(one, ())
                copies += copied and not chosen
                write(() if copied or chosen else (lines[side],))
        if copies:
            log.info("%s: %s lines left out of the training text: copies of held-out lines", one.path, f"{copies:,}")


def _held_out(pairs: Sequence[tuple[TextFile, TextFile]]) -> dict[str, list[TextFile]]:
    """Return the files that each held-out file samples: all corpora of a language pair."""
    found: dict[str, list[TextFile]] = {}
    for source, target in pairs:
        for side in (source, target):
            name = _HELD_OUT.format(source=source.language, target=target.language, language=side.language)
            found.setdefault(name, []).append(side)
    return found


def _coverage(vocab: Vocab, samples: dict[str, list[str]], tokenizer: str) -> dict[str, Coverage]:
    found = {}
    for language, lines in samples.items():
        text = Text.of(lines, language, tokenizer)
        (encoded,) = vocab.encode_texts([text])
        ids = encoded.ids.flat
        found[language] = Coverage(
            round(len(ids) / max(len(text.words.flat), 1), 2), round(100 * float(np.mean(ids == vocab.unk)), 2)
        )
    return found


def _notes(
    files: Sequence[TextFile], pairs: Sequence[tuple[TextFile, TextFile]], coverage: dict[str, Coverage]
) -> Iterator[str]:
    for language, cut in coverage.items():
        if cut.unknown > 1 or cut.subwords_per_word > 3:
            yield (
                f"{language}: {cut.subwords_per_word:.1f} subwords per word, {cut.unknown:.1f} % unknown; extend the "
                "vocabulary: --set set.vocab.extend=5000"
            )
    for source, target in pairs:
        if source.lines < _MIN_PAIRS:
            name = f"{source.language}-{target.language}"
            yield f"{name}: {source.lines:,} pairs are few for word alignments; 10,000 or more align well"
    if not pairs and len(files) > 1:
        yield "no two files of one name and number of lines, such as train.en and train.de: none are translations"


def _fit(name: str, pairs: Sequence[Any], start: str | None, entries: int) -> tuple[str, bool]:
    """Return the reason, and whether an objective fits the data."""
    kind = OBJECTIVES.build(name)
    if kind.architecture != "masked":
        return f"trains a {kind.architecture} model; for translation, see `interlace list recipes`", False
    if kind.reads is Pairs and not pairs:
        return "needs sentence pairs", False
    if "lexicon" in kind.needs:
        if entries:
            return f"uses your dictionary of {entries:,} entries", True
        return ("counts its dictionary from word alignments", True) if pairs else ("needs a dictionary or pairs", False)
    if name == "word_aligned" and start is None:
        return "moves the vectors of a trained model; give a checkpoint", False
    if kind.needs:
        return "uses the word alignments of the pairs", True
    return ("reads pairs without alignments" if kind.reads is Pairs else "needs text alone: the baseline"), True


@cache
def evidence() -> dict[str, list[dict[str, Any]]]:
    """Return the entries of `evidence.toml`."""
    return tomllib.loads(Path(__file__).with_name("evidence.toml").read_text(encoding="utf-8"))


def _evidence(name: str) -> Iterator[str]:
    for entry in evidence()["papers"]:
        if entry["objective"] == name:
            first, other = (
                find_rows(entry[side], "xnli", columns=[entry["column"]])[0] for side in ("system", "against")
            )
            values = [row.scores[entry["column"]] for row in (first, other)]
            yield f"{first.where}: XNLI {values[0]} against {values[1]} ({other.system}); one run, no interval"
    for entry in evidence()["ours"]:
        if entry["objective"] == name:
            low, high = (entry["difference"] + sign * entry["interval"] for sign in (-1, 1))
            yield (
                f"our runs: {entry['measure']} {entry['difference']:+.1f} over {entry['against']} "
                f"({low:+.1f} to {high:+.1f}, {entry['runs']} runs each; docs/{entry['page']})"
            )


def _base_recipe(
    files: Sequence[TextFile],
    pairs: Sequence[tuple[TextFile, TextFile]],
    start: str | None,
    dictionary: Path | None,
    tokenizer: str,
    steps: int,
    tokens_per_update: int,
) -> dict[str, Any]:
    """Return the recipe that all systems share."""
    names = {one: _TRAIN.format(number=number, language=one.language) for number, one in enumerate(files)}
    corpora: dict[str, Any] = {}
    for number, one in enumerate(files):
        group: dict[str, Any] = {"languages": [one.language], "train": [names[one]]}
        pair = next((pair for pair in pairs if one in pair), None)
        if pair is not None:
            dev = _HELD_OUT.format(source=pair[0].language, target=pair[1].language, language=one.language)
            first = next(place for place, other in enumerate(files) if other.language == one.language)
            group |= {"dev": [dev]} if number == first else {}
        corpora[f"text{number}"] = group
    for number, (source, target) in enumerate(pairs):
        corpora[f"pairs{number}"] = {
            "pairs": [f"{source.language}-{target.language}"],
            "train": [names[source], names[target]],
        }
    tasks: dict[str, Any] = {"retrieval": {"files": _HELD_OUT}}
    if dictionary is not None:
        tasks["embedding_alignment"] = {"files": str(dictionary.resolve())}
    sources = [source.language for source, _ in pairs]
    main = max(dict.fromkeys(sources), key=sources.count, default=files[0].language)
    return {
        "data_root": ".",
        "word_tokenizer": tokenizer,
        "corpora": corpora,
        "filters": {"empty": {}, "length": {"max_words": 100}, "ratio": {}, "duplicates": {}},
        "model": {"start": str(Path(start).resolve()) if Path(start).is_dir() else start} if start else _SCRATCH,
        **({} if start else {"vocab": {"size": 8000}}),
        "train": {
            "steps": steps,
            "tokens_per_update": tokens_per_update,
            "evaluate_every": max(steps // 10, 1),
            "checkpoint_every": max(steps // 10, 1),
            "optimizer": {"learning_rate": 5e-5 if start else 3e-3, "warmup": 1000 if start else 200},
        },
        "evaluate": {
            "source": main,
            "targets": list(dict.fromkeys(target.language for source, target in pairs if source.language == main)),
            "tasks": tasks,
        },
    }


def _with_objective(base: dict[str, Any], name: str, dictionary: Path | None) -> dict[str, Any]:
    """Return the shared recipe with MLM and one objective."""
    text = [group for group in base["corpora"] if group.startswith("text")]
    kind = OBJECTIVES.build(name)
    settings: dict[str, Any] = {} if kind.reads is Pairs else {"corpora": text}
    if "lexicon" in kind.needs and dictionary is not None:
        settings["dictionary"] = {"files": str(dictionary.resolve())}
    entries = {_BASELINE: {"corpora": text}}
    return {**base, "name": name, "objectives": {**entries, name: settings}}


def _recipe_lines(found: Recommendation) -> Iterator[str]:
    yield "# Written by `interlace recommend`: one variant per objective that fits the data."
    for name, recipe in found.recipes.items():
        yield f"\n[variants.{name}]"
        if name == _BASELINE:
            yield from _toml_lines(f"variants.{name}", recipe)
        else:
            yield f'extends = ":{_BASELINE}"\nname = "{name}"'
            for objective, settings in recipe["objectives"].items():
                yield from ["", f"[variants.{name}.objectives.{objective}]"]
                yield from _toml_lines(f"variants.{name}.objectives.{objective}", settings)


def _study_lines(found: Recommendation, into: Path) -> Iterator[str]:
    systems = list(found.recipes)
    targets = found.recipes[_BASELINE]["evaluate"]["targets"]
    yield f"# Written by `interlace recommend`: {len(systems)} systems, {SEEDS} seeds, {found.steps:,} steps each."
    yield f"# Cost of a run: interlace pretrain {into / RECIPE_FILE}:{_BASELINE} --dry-run"
    yield f"#   interlace study {into / STUDY} -o {into}-runs"
    slug = "".join(char if char.isalnum() or char in "-_." else "-" for char in into.resolve().name).lstrip("-_.")
    yield f'name = "{slug or "recommended"}"'
    yield 'about = "Objectives that fit the data, compared by sentence retrieval on held-out pairs."'
    yield f'baseline = "{_BASELINE}"\nseeds = {list(range(SEEDS))}\n'
    yield f"[set]\ndata_root = {toml_value(str(into.resolve()))}\n"
    yield f"[evaluate]\ntasks = {toml_value(list(found.recipes[_BASELINE]['evaluate']['tasks']))}"
    for name in systems:
        yield f'\n[systems.{name}]\nrecipe = "{RECIPE_FILE}:{name}"'
    for name in systems[1 : MAX_FAMILY + 1]:  # more could not be significant with these seeds
        yield f"\n[findings.{name}]\nclaim = {toml_value(f'{name} retrieves translations better than {_BASELINE}.')}"
        yield f'source = "interlace recommend"\nfamily = "retrieval"\nsystem = "{name}"'
        yield f'against = {{ system = "{_BASELINE}" }}\ntask = "retrieval"\nmargin = 1.0'
        if len(targets) == 1:
            yield f'language = "{targets[0]}"'


def _toml_lines(place: str, data: dict[str, Any]) -> Iterator[str]:
    """Yield the keys of a table, then its tables."""
    yield from (f"{key} = {toml_value(value)}" for key, value in data.items() if not isinstance(value, dict))
    for key, value in data.items():
        if isinstance(value, dict):
            if not value or not all(isinstance(inner, dict) for inner in value.values()):
                yield f"\n[{place}.{key}]"
            yield from _toml_lines(f"{place}.{key}", value)
