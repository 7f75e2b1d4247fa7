"""Valid inputs for every command, and mutations that corrupt them: of bytes, of JSON and TOML values, of options."""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import logging
import re
import shutil
import signal
import tomllib
import traceback
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from typer.testing import CliRunner

from interlace.__main__ import exit_code
from interlace.cli import application
from interlace.core.display import VisibleRecord
from little_translators import little_run, little_vocab

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

ESCAPES = "\x1b[2J\x1b]0;title\x07\x9b31m\u202egnp\r"
# not to be printed
RAW = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]")
WORDS = "the cat dog sees house big reads two books in".split()
TREE = "1\tcat\tcat\tNOUN\tNN\t_\t2\tnsubj\t_\t_\n2\tsees\tsee\tVERB\tVB\t_\t0\troot\t_\t_\n\n"
ANSWERS = [{"text": "cat", "answer_start": 4}]
QUESTION = {
    "context": "The cat sees two dogs.",
    "qas": [{"id": "1", "question": "Who sees?", "answers": ANSWERS}],
}
SQUAD = {"data": [{"title": "t", "paragraphs": [QUESTION]}]}
RECIPE = """
name = "small"
data_root = "{root}"
[corpora.text]
languages = ["en", "xx"]
train = "train.{{language}}"
dev = "dev.{{language}}"
[corpora.pairs]
pairs = ["en-xx"]
train = ["pairs.{{source}}", "pairs.{{target}}"]
[vocab]
size = 300
[model]
shape = {{ layers = 1, width = 16, heads = 2, max_length = 32 }}
[objectives.mlm]
max_length = 32
[objectives.tlm]
max_length = 32
[train]
steps = 2
tokens_per_update = 128
tokens_per_micro_batch = 128
precision = "no"
checkpoint_every = 1
threads = 1
optimizer.warmup = 1
[evaluate]
source = "en"
targets = ["xx"]
[evaluate.tasks.retrieval]
files = "dev.{{language}}"
"""
STUDY = """
name = "little"
seeds = [0]
[systems.mlm]
recipe = "small.toml"
"""


@dataclass(frozen=True)
class Command:
    """A command line with `{in}` and `{out}`, the files of `{in}` that it reads, and how often it is drawn."""

    line: str
    files: Sequence[str] = ()
    weight: int = 3
    options: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The command's own name."""
        return self.line.split()[0]


RUN = (
    "run/recipe.json run/run.json run/metrics.jsonl run/scores.json run/run_state.json "
    "run/samples.json run/model/config.json run/model/tokenizer.json "
    "run/model/tokenizer_config.json run/model/model.safetensors "
    "run/checkpoints/step-00000002/state.json run/checkpoints/step-00000002/optimizer.safetensors"
).split()
TRANSLATOR = (
    "nmt/recipe.json nmt/run.json nmt/model/config.json nmt/model/interlace.json "
    "nmt/model/decoder/config.json nmt/model/tokenizer.json nmt/model/model.safetensors"
).split()
TEXT = ("pairs.en", "pairs.xx")
RECIPES = ("small.toml", "small.json", "train.en", "dev.xx", "pairs.xx")
COMMANDS = (
    Command("align {in}/pairs.en {in}/pairs.xx -o {out}/links", TEXT, 3, ("--set=iterations=", "--set=seed=")),
    Command("align {in}/pairs.en {in}/pairs.xx --load-model {in}/aligner -o {out}/links", (*TEXT,
            "aligner/aligner.json", "aligner/model.safetensors", "aligner/source.words"), 6),
    Command("phrases {in}/pairs.en {in}/pairs.xx {in}/links -o {out}/phrases", (*TEXT, "links", "links.json"), 4,
            ("--max-length=", "--min-count=")),
    Command("lexicon {in}/pairs.en {in}/pairs.xx {in}/links -o {out}/lexicon", (*TEXT, "links", "links.json"), 4,
            ("--min-count=", "--min-confidence=")),
    Command("project {in}/labels {in}/pairs.en {in}/pairs.xx {in}/links -o {out}/labels", ("labels", *TEXT), 2),
    Command("code-switch {in}/pairs.en {in}/pairs.xx {in}/links -o {out}/mixed", (*TEXT, "links"), 3,
            ("--set=copies=", "--set=switch_fraction=", "--set=seed=")),
    Command("derive {in}/train.en --transformations permute -o {out}/derived", ("train.en",
            "tree.conllu"), 3, ("--language=", "--seed=", "--name=")),
    Command("vocab {in}/train.en {in}/train.xx --size 300 -o {out}/vocab", ("train.en",), 3, ("--size=",)),
    Command("check {in}/small.toml", (*RECIPES, "train.xx"), 6, ("--set=",)),
    Command("check {in}/pairs.en {in}/pairs.xx", TEXT, 2),
    Command("check {in}/squad.json --reader squad", ("squad.json",), 3),
    Command("check {in}/tree.conllu", ("tree.conllu",), 2),
    Command("preview tlm --vocab {in}/run/model --source a --target b", ("run/model/tokenizer.json",
            "run/model/tokenizer_config.json", "run/model/config.json"), 4, ("--seed=", "--set=")),
    Command("pretrain {in}/small.toml --dry-run", RECIPES, 1, ("--set=",)),
    Command("pretrain {in}/small.json -o {out}/run", RECIPES, 3, ("--set=",)),
    Command("pretrain {in}/small.toml -o {in}/run --set train.steps=2", RUN, 6),
    Command("pretrain {in}/small-start.toml -o {out}/run", (*RUN[6:10], "small-start.toml"), 6),
    Command("evaluate {in}/run --data {in} -o {out}/scores", RUN, 8, ("--seeds=", "--set=", "--tasks=",
            "--languages=")),
    Command("evaluate {in}/run", RUN, 4),
    Command("evaluate {in}/run/model --recipe {in}/small.toml -o {out}/scores", (*RUN[6:10], "small.toml"), 5),
    Command("report {in}/run {in}/nmt -o {out}/report.html", RUN, 10),
    Command("export {in}/run -o {out}/model", RUN, 5),
    Command("export {in}/run/model {in}/dev.en --trim -o {out}/model", (*RUN[6:10], "dev.en"), 4),
    Command("translate {in}/nmt --input {in}/dev.en --from en --to de -o {out}/text", (*TRANSLATOR, "dev.en"), 6,
            ("--beam=", "--window=", "--tokens=", "--length-penalty=")),
    Command("study {in}/study.toml -o {in}/study --dry-run", ("study.toml", "study/study.json", "small.toml",
            "study/cells/mlm-0/cell.json", "study/cells/mlm-0/run.json", "study/cells/mlm-0/scores.json"), 6,
            ("--set=",)),
    Command("back-translate {in}/nmt {in}/dev.en --from en --to de -o {out}/back", (*TRANSLATOR, "dev.en"), 4,
            ("--tag=", "--tokens=", "--set=search.beam=", "--set=filters.ratio.max_ratio=")),
    Command("mine {in}/pairs.en {in}/pairs.xx --model {in}/run -o {out}/mined", (*TEXT, *RUN[6:10]), 4, ("--k=",
            "--threshold=", "--strategy=", "--languages=")),
    Command("prepare {in}/small.toml --workers 1", RECIPES, 2, ("--set=", "--workers=0")),
    Command("toy --languages en,de --pairs 20 -o {out}/toy", (), 2, ("--languages=", "--pairs=")),
    Command("init", (), 1),
    Command("list objectives mlm", (), 1),
)  # fmt: skip


def write_material(folder: Path) -> None:
    """Write valid inputs of all commands; trains and evaluates a small run."""
    folder.mkdir(parents=True)
    for name, count in (("train", 60), ("dev", 8), ("pairs", 30)):
        lines = [
            " ".join(WORDS[(i * j + j) % 10] for j in range(1, 3 + i % 5)) for i in range(count)
        ]
        (folder / f"{name}.en").write_text("\n".join(lines) + "\n")
        (folder / f"{name}.xx").write_text("\n".join(line[::-1] for line in lines) + "\n")
    (folder / "links").write_text("0-0 1-1\n" * 30)
    (folder / "links.json").write_text(
        '{"word_tokenizer": "whitespace", "languages": ["en", "xx"]}'
    )
    (folder / "tree.conllu").write_text(TREE * 30)
    pairs = (folder / "pairs.en").read_text().splitlines()
    (folder / "labels").write_text(
        "".join(f"{' '.join('X' for _ in line.split())}\n" for line in pairs)
    )
    for split in ("train", "dev", "test"):
        (folder / f"names.{split}").write_text("the\tO\ncat\tB-PER\n\n" * 10)
    (folder / "squad.json").write_text(json.dumps(SQUAD))
    (folder / "small.toml").write_text(RECIPE.format(root=folder))
    (folder / "small.json").write_text(json.dumps(tomllib.loads(RECIPE.format(root=folder))))
    (folder / "study.toml").write_text(STUDY)
    start = (
        RECIPE.format(root=folder).partition("[model]")[0].replace("[vocab]\nsize = 300\n", "")
    )
    start += (
        f'[model]\nstart = "{folder}/run/model"\n[objectives.mlm]'
        + RECIPE.partition("[objectives.mlm]")[2]
    )
    (folder / "small-start.toml").write_text(start.replace("{{", "{").replace("}}", "}"))
    little_run(folder / "nmt", little_vocab())
    for line in (
        "pretrain {in}/small.toml -o {in}/run",
        "evaluate {in}/run",
        "evaluate {in}/run --tasks ner --seeds 1 --save-models --set evaluate.tasks.ner.files=names.{{split}}",
        "align {in}/pairs.en {in}/pairs.xx --save-model {in}/aligner -o {in}/aligned",
        "derive {in}/train.en --transformations invert -o {in}/derived",
    ):
        done = invoke(line.format_map({"in": folder}).split(), 120)
        if done.code != 0:
            raise RuntimeError(f"{line}: {done.text}")


@dataclass
class Done:
    """How a command ended: its exit code (None: a traceback), its error, what it printed."""

    code: int | None
    text: str
    trace: str = ""


class TooSlowError(BaseException):
    """The command took longer than it may."""


@contextlib.contextmanager
def time_limit(seconds: int) -> Iterator[None]:
    """Raise TooSlowError after some seconds of computing, or five times as many of waiting."""

    def stop(*_: object) -> None:
        raise TooSlowError

    before = {
        number: signal.signal(number, stop) for number in (signal.SIGPROF, signal.SIGALRM)
    }
    signal.setitimer(signal.ITIMER_PROF, seconds)
    signal.alarm(5 * seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.alarm(0)
        for number, handler in before.items():
            signal.signal(number, handler)


@contextlib.contextmanager
def logged() -> Iterator[io.StringIO]:
    """Yield what is logged, as the command line logs it."""
    before, lines = logging.getLogRecordFactory(), io.StringIO()
    handler, ours = logging.StreamHandler(lines), logging.getLogger("interlace")
    logging.setLogRecordFactory(VisibleRecord)
    logging.root.addHandler(handler)
    level = ours.level
    ours.setLevel(logging.INFO)
    try:
        yield lines
    finally:
        ours.setLevel(level)
        logging.root.removeHandler(handler)
        logging.setLogRecordFactory(before)


def invoke(arguments: list[str], seconds: int = 20) -> Done:
    """Run a command in this process, as `interlace.__main__` does."""
    with logged() as lines:
        try:
            with time_limit(seconds):
                done = CliRunner().invoke(
                    application(arguments), arguments, standalone_mode=False
                )
        except TooSlowError:
            return Done(None, f"more than {seconds} s")
    error, text = done.exception, lines.getvalue() + done.output
    if error is None or isinstance(error, SystemExit):
        return Done(done.exit_code, text)
    trace = "".join(traceback.format_exception(error))
    if isinstance(error, TooSlowError):
        return Done(None, f"more than {seconds} s", trace)
    with contextlib.redirect_stderr(io.StringIO()) as printed:
        code = exit_code(error)
    return Done(code, text + (printed.getvalue() or f"{type(error).__name__}: {error}"), trace)


def digests(folder: Path) -> dict[str, str]:
    """The content of every file below a folder."""
    return {
        str(path.relative_to(folder)): hashlib.md5(path.read_bytes()).hexdigest()  # noqa: S324 - no secret
        for path in folder.rglob("*")
        if path.is_file()
    }


NAMES = (
    ESCAPES,
    f"{ESCAPES}.en",
    "x" * 255,
    "\udcff.en",
    "en:a.en",
    "a\nb.json",
    "[bold]",
    "é" * 120,
)
NUMBERS = f"0 -1 1e309 nan {10**9} {10**20} {'9' * 5000} 0.5 1e-320 4294967290".split()
ODD: tuple[Any, ...] = (
    None,
    True,
    -1,
    0,
    10**9,
    10**20,
    1e308,
    0.5,
    "",
    "x" * 2000,
    "../../x",
    "/etc/passwd",
    "\ud800",
    "\0",
    "é",
    ESCAPES,
    f"<b>|\n# {ESCAPES}",
    {ESCAPES: ESCAPES},
    [],
    {},
    [[]],
    [None],
    {"": None},
    {"a": {"b": 1}},
    "__import__('os')",
    "{language:>100000}",
    "nan",
)
KEYS = (
    "train.steps,train.threads,train.tokens_per_update,train.seed,seed,model.shape.layers,"
    "model.shape.width,model.shape.heads,vocab.size,objectives.mlm.share,corpora.text.train,"
    '.,..,",a.b.c,,train,train.optimizer.warmup,model.shape.max_length,objectives,train.patience,'
    "train.checkpoint_every,train.precision,name,evaluate.targets,corpora.text.limit"
).split(",")


def deep(rng: random.Random) -> bytes:
    """JSON nested too deep for a recursive parser, or just deep."""
    depth = rng.choice([300, 3000, 100_000])
    return rng.choice([b"[" * depth + b"]" * depth, b'{"a":' * depth + b"1" + b"}" * depth])


def _flip(data: bytes, rng: random.Random) -> bytes:
    found = bytearray(data or b"x")
    for _ in range(rng.randint(1, 4)):
        found[rng.randrange(len(found))] = rng.randrange(256)
    return bytes(found)


BYTES: tuple[Callable[[bytes, Any], bytes], ...] = (
    _flip,
    lambda data, rng: data[: rng.randrange(len(data) or 1)],
    lambda data, rng: b"",
    lambda data, rng: data + bytes(rng.randrange(256) for _ in range(50)),
    lambda data, rng: b"\0" * 100,
    lambda data, rng: b"\xff\xfe" + data,
    lambda data, rng: data.replace(b"\n", b"\r"),
    lambda data, rng: b"\xef\xbb\xbf" + data,
    lambda data, rng: deep(rng),
    lambda data, rng: data.replace(b"1", b"9" * 5000),
    lambda data, rng: rng.choice(
        [b"null", b"3", b'"x"', b"[]", b"{}", b"[1, 2]", b'{"a": 1}', b"1e999", b"NaN"]
    ),
    lambda data, rng: b"x" * 100_000 + b"\n",
    lambda data, rng: data * rng.choice([2, 50]),
    lambda data, rng: data.replace(
        rng.choice([b" ", b"\n", b"e", b"=", b'"', b"-"]), ESCAPES.encode(), 3
    ),
)


def _places(data: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if isinstance(data, list):
        data = dict(enumerate(data))
    if isinstance(data, dict):
        for key, value in data.items():
            yield (*path, key)
            yield from _places(value, (*path, key))


def corrupt_value(text: str, rng: random.Random) -> str:
    """Replace, remove or rename one value of JSON, at any depth."""
    data = json.loads(text)
    places = list(_places(data))
    if len(places) > 200:  # of a tokenizer nearly all are its subwords
        places = sorted(places, key=len)[:100] + rng.sample(places, 100)
    *path, key = rng.choice(places)
    inner = data
    for part in path:
        inner = inner[part]
    what = rng.randrange(6)
    if what < 2 and key == "steps":
        inner[key] = -1  # without it, training takes its time
    elif what == 0:
        del inner[key]
    elif what == 1 and isinstance(inner, dict):
        inner[rng.choice(["", "x", f"{key}s", "\0", "../x", ESCAPES])] = inner.pop(key)
    else:
        inner[key] = rng.choice(ODD if key != "steps" else ODD[1:])
    return json.dumps(data)


def corrupt_file(path: Path, rng: random.Random) -> str:
    """Corrupt a file; return how."""
    data = path.read_bytes()
    what = rng.random()
    if path.suffix in {".json", ".jsonl"} and what < 0.75:
        first, _, rest = (
            data.decode().partition("\n")
            if path.suffix == ".jsonl"
            else (data.decode(), "", "")
        )
        path.write_text("\n".join([corrupt_value(first, rng), rest]), encoding="utf-8")
        return "value"
    if what > 0.97:
        path.unlink()
        if what > 0.985:
            path.mkdir()
            return "folder"
        return "missing"
    number = rng.randrange(len(BYTES))
    path.write_bytes(BYTES[number](data, rng))
    return f"bytes {number}"


@dataclass
class Case:
    """A corrupted command: its arguments, what was corrupted, and the faults that were found."""

    arguments: list[str]
    what: str
    done: Done
    faults: list[str] = field(default_factory=list)


def arguments_of(command: Command, folder: Path) -> list[str]:
    """Return the words of a command that reads `folder/in` and writes `folder/out`."""
    given = folder / "in"
    places = {"in": given, "out": folder / "out"}
    return [part.format_map(places) for part in command.line.split()]


def draw(rng: random.Random, material: Path, folder: Path) -> Case:
    """Corrupt one input of a command, run it in `folder`, and look for faults."""
    shutil.rmtree(folder, ignore_errors=True)
    given = folder / "in"
    command = rng.choices(COMMANDS, [each.weight for each in COMMANDS])[0]
    large = ("run", "nmt", "aligner", "derived", "aligned")
    skipped = {name for name in large if f"/{name}" not in command.line}
    shutil.copytree(
        material, given, ignore=lambda where, _: skipped if where == str(material) else set()
    )
    for path in (
        *given.glob("small.*"),
        *given.glob("*/recipe.json"),
        *given.glob("study/cells/*/*.json"),
    ):
        path.write_text(path.read_text().replace(str(material), str(given)))
    arguments = arguments_of(command, folder)
    files = [name for name in command.files if (given / name).exists()]
    if command.options and (not files or rng.random() < 0.3):
        option = rng.choice(command.options)
        value = rng.choice([*NUMBERS, "", "x", "\udcff", "\0", "../x", "en", ESCAPES])
        if option == "--set=":
            value = f"{rng.choice(KEYS)}={rng.choice([*NUMBERS, '[' * 5000, '[]', '{}', 'x', '', 'true'])}"
        arguments.append(option + value)
        what = (option + value)[:80]
    elif files:
        name = rng.choice(files)
        if command.name != "check" and rng.random() < 0.1 and "run/run.json" in files:
            (given / "run" / "run.json").unlink()  # an unfinished run
        what = f"{name}: {corrupt_file(given / name, rng) if (given / name).exists() else 'missing'}"
        if rng.random() < 0.05:
            rename_input(arguments, given / name, rng.choice(NAMES))
    else:
        what = "nothing"
    before = digests(given)
    case = Case(arguments, what, invoke(arguments))
    writes_input = "-o" in arguments and arguments[arguments.index("-o") + 1].startswith(
        str(given)
    )
    writes_input |= arguments == ["evaluate", f"{given}/run"]
    case.faults = faults_of(case, folder, {} if writes_input else before)
    return case


def rename_input(arguments: list[str], path: Path, name: str) -> None:
    """Give an odd name to a file that is an argument."""
    if str(path) in arguments and path.exists():
        arguments[arguments.index(str(path))] = str(path.rename(path.with_name(name)))


def faults_of(
    case: Case, folder: Path, before: dict[str, str], known: tuple[str, ...] = ("in", "out")
) -> list[str]:
    """Return what is wrong with how a command ended, what it printed and what it changed.

    before: files of `in` to compare. known: names of the folders that may be there.
    """
    found = []
    if case.done.code not in {0, 2} or "INTERLACE_TRACEBACK=1" in case.done.text:
        found.append(f"exit code {case.done.code}: {case.done.text[-300:]}")
    if raw := RAW.search(case.done.text):
        found.append(
            f"prints {raw[0]!r} in {case.done.text[max(raw.start() - 100, 0) : raw.end() + 100]!r}"
        )
    after = digests(folder / "in") if before else {}
    found += [f"changed {name}" for name in before if after.get(name) != before[name]]
    found += [f"added {name}" for name in after if name not in before]
    if foreign := {path.name for path in folder.iterdir()} - {*known}:
        found.append(f"outside of its output: {foreign}")
    found += [f"left {path.relative_to(folder)}" for path in folder.rglob("*.partial*")]
    return found
