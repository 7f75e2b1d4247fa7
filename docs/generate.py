"""Write the generated parts of the site: reference of commands and recipe keys, published tables, errors, llms.txt.

    python docs/generate.py

Blocks between `<!-- generated: NAME -->` and `<!-- end of generated -->` are replaced, and so is the output of the
commands in `docs/faq.md`. `tests/test_docs.py` fails if a page is out of date.
"""

import inspect
import json
import os
import re
import shlex
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, get_args, get_origin, get_type_hints

import typer
from pydantic import BaseModel
from pydantic.fields import FieldInfo
from typer.testing import CliRunner

import interlace
from interlace.__main__ import explanation
from interlace.aligners import ALIGNERS
from interlace.cli import COMMANDS, application, checked, command_name, registries
from interlace.core.display import block
from interlace.core.settings import type_name
from interlace.data.filters import FILTERS
from interlace.embeddings import EMBEDDING_METHODS
from interlace.experiments.recipe import RECIPES, Recipe
from interlace.experiments.sections import CorpusGroup, DerivedLanguage, OriginalPattern
from interlace.experiments.studies import Study, StudyEvaluation, StudySystem
from interlace.readers import READERS
from interlace.scores.published import paper, papers
from interlace.tasks import TASKS

DOCS = Path(__file__).parent
REFERENCE = ["api", "cli", "recipe", "study", "entries"]
PAGES = [*(f"reference/{name}.md" for name in REFERENCE), "papers.md", "faq.md"]
BLOCK = re.compile(r"(<!-- generated: (\w+) -->\n).*?(<!-- end of generated -->)", re.DOTALL)
COMMAND = re.compile(r"(?<=^```console\n)\$ ([^\n]*\n).*?(?=^```)", re.DOTALL | re.MULTILINE)
NAVIGATION = re.compile(
    r"^:caption: ([^\n]*)\n(?:^:[^\n]*\n)*\n(.*?)^```", re.DOTALL | re.MULTILINE
)
KINDS = {int: "INTEGER", float: "FLOAT", Path: "PATH"}
BOUNDS = {
    "ge": "≥",
    "gt": ">",
    "le": "≤",
    "lt": "<",
    "min_length": "length ≥",
    "max_length": "length ≤",
}


def up_to_date(page: str) -> str:
    """The page as it should be."""
    page = BLOCK.sub(lambda found: f"{found[1]}\n{GENERATED[found[2]]()}\n{found[3]}", page)
    if "```console\n$ " in page:
        with TemporaryDirectory() as folder:
            write_examples(Path(folder))
            page = COMMAND.sub(lambda found: f"$ {found[1]}{printed(found[1], folder)}", page)
    return page


def cell(text: Any) -> str:
    """Text in a cell of a table."""
    return " ".join(str(text).replace("|", "\\|").replace("<", "&lt;").split())


# Commands


def commands() -> str:
    """Every command with its arguments and options, from the command line's own definitions."""
    group: Any = typer.main.get_command(application())
    parts = []
    for module in COMMANDS.names():
        name = command_name(module)
        command = group.commands[name]
        types = get_type_hints(checked(COMMANDS.get(module)))
        parts.append(
            f"## `interlace {name}`\n\n{paragraphs(command.help)}\n\n{parameters(command, types)}"
        )
    return "\n".join(parts)


def paragraphs(text: str | None) -> str:
    """Help as Markdown; indented examples stay as they are."""
    return re.sub(r"[\b\f]\n?", "", text or "").strip()


def parameters(command: Any, types: dict[str, Any]) -> str:
    """The table of a command's arguments and options; types: of its parameters by name."""
    rows = ["| argument or option | value | default | meaning |", "|---|---|---|---|"]
    for one in command.params:
        if one.name == "help":
            continue
        flag = getattr(one, "is_flag", False)
        names = (
            [*one.opts, *one.secondary_opts]
            if one.opts[0].startswith("-")
            else [one.metavar or one.name.upper()]
        )
        annotation = types[one.name]
        kind = (get_args(annotation) or (annotation,))[0]
        value = "" if flag else one.metavar or KINDS.get(kind, "TEXT")
        default = (
            ""
            if one.default in (None, "", [], False, ()) or callable(one.default)
            else f"`{one.default}`"
        )
        default = "required" if one.required else default
        rows.append(
            f"| {', '.join(f'`{name}`' for name in names)} | {cell(value)} | {default} | {cell(one.help or '')} |"
        )
    return "\n".join(rows) + "\n"


# Recipe keys


def recipe_keys() -> str:
    """Every key of a recipe by section."""
    parts = [table(Recipe.model_fields)]
    for name, field in Recipe.model_fields.items():
        section = section_of(field)
        if section is not None and name != "objectives":
            parts += sections(f"[{name}]", section, field.description)
    parts += sections("[corpora.GROUP]", CorpusGroup, "A group of corpora.")
    parts += sections("[derived.LANGUAGE]", DerivedLanguage, "A derived language.")
    parts += sections("[[derived.LANGUAGE.files]]", OriginalPattern, "Files to derive.")
    objective = Recipe.model_fields["objectives"].annotation
    parts += sections(
        "[objectives.NAME]", get_args(objective)[1], "Keys of every objective, besides its own."
    )
    return "\n".join(parts)


def study_keys() -> str:
    """Every key of a study by section."""
    parts = [table(Study.model_fields)]
    parts += sections("[evaluate]", StudyEvaluation, "How every cell is evaluated.")
    parts += sections(
        "[systems.NAME]", StudySystem, "A row of the study's table: a recipe, or a checkpoint."
    )
    return "\n".join(parts)


def sections(path: str, model: type[BaseModel], about: str | None) -> Iterator[str]:
    """The table of a section, then those inside it."""
    yield f"## `{path}`\n\n{cell(about or '')}\n\n{table(model.model_fields)}"
    for name, field in model.model_fields.items():
        inner = section_of(field)
        if inner is not None:
            yield from sections(f"{path[:-1]}.{name}]", inner, field.description)


def section_of(field: FieldInfo) -> type[BaseModel] | None:
    """The settings class of a key that is a table."""
    if get_origin(field.annotation) in {list, tuple, dict}:
        return None
    kinds = (field.annotation, *get_args(field.annotation))
    return next(
        (kind for kind in kinds if isinstance(kind, type) and issubclass(kind, BaseModel)), None
    )


def table(fields: dict[str, FieldInfo]) -> str:
    """Key, type, default, range and meaning."""
    rows = ["| key | type | default | range | meaning |", "|---|---|---|---|---|"]
    for key, field in fields.items():
        kind = (
            "section"
            if section_of(field)
            else type_name(field.annotation).replace(" | None", "")
        )
        default = (
            "required" if field.is_required() else field.get_default(call_default_factory=True)
        )
        plain = (
            ""
            if isinstance(default, BaseModel) or default is None
            else f"`{cell(toml_value(default))}`"
        )
        shown = "required" if field.is_required() else plain
        rows.append(
            f"| `{key}` | {cell(kind)} | {shown} | {cell(bounds(field))} | {cell(field.description or '')} |"
        )
    return "\n".join(rows) + "\n"


def toml_value(value: Any) -> str:
    """A value as TOML: a string, number, boolean, list or inline table."""
    if isinstance(value, dict):
        return (
            f"{{ {', '.join(f'{key} = {toml_value(part)}' for key, part in value.items())} }}"
        )
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(toml_value, value))}]"
    return repr(value) if isinstance(value, float) else json.dumps(value, ensure_ascii=False)


def bounds(field: FieldInfo) -> str:
    """The range of a key."""
    found = [
        f"{sign} {getattr(rule, name)}"
        for rule in field.metadata
        for name, sign in BOUNDS.items()
        if hasattr(rule, name)
    ]
    return ", ".join(found)


def entries() -> str:
    """The settings of all entries that have no page of their own."""
    kinds = {
        "Aligners, `[align]`": ALIGNERS,
        "Tasks, `[evaluate.tasks.NAME]`": TASKS,
        "Readers": READERS,
    }
    kinds |= {
        "Filters, `[filters.NAME]`": FILTERS,
        "Embedding methods, `[embeddings]`": EMBEDDING_METHODS,
    }
    kinds["Transformations, `[derived.LANGUAGE.settings.NAME]`"] = registries()[
        "transformations"
    ]
    parts = []
    for title, registry in kinds.items():
        parts.append(f"## {title}\n")
        for name in sorted(registry.own_names()):
            fields = registry.get(name).model_fields
            keys = table(fields) if fields else "No settings.\n"
            parts.append(f"### `{name}`\n\n{registry.summary(name)}\n\n{keys}")
    return "\n".join(parts)


# Papers


def published() -> str:
    """The published tables of each paper, their errata and the recipes that reproduce rows of them."""
    recipes: dict[str, Counter[str]] = {}
    for name in RECIPES.names():
        cited = {row["where"].split(", ")[0] for row in RECIPES.read(name).get("published", [])}
        for cite in cited:
            recipes.setdefault(cite, Counter())[name.partition(":")[0]] += 1
    parts = []
    for name in papers():
        one = paper(name)
        own = recipes.get(one.cite, Counter())
        parts.append(
            f"## {one.cite}\n\n*{one.title}.* All figures: `interlace list published {name}`.\n"
        )
        if own:
            listed = ", ".join(f"`{each}` ({count})" for each, count in own.items())
            parts.append(
                f"Recipe files, with the number of variants that reproduce a row: {listed}.\n"
            )
        rows = [
            "| table | what it shows | task | metric | printing errors |",
            "|---|---|---|---|---|",
        ]
        rows += [
            f"| {each.number} | {cell(each.about)} | {cell(each.task)} | {cell(each.measured)} | {cell(each.errata)} |"
            for each in one.tables
        ]
        parts.append("\n".join(rows) + "\n")
        parts += [
            f"- Not stored, figure {figure.number}: {figure.about}" for figure in one.figures
        ] + [""]
    return "\n".join(parts)


# Python API


def functions() -> str:
    """The public names of the package with their parameters and what they do, readable without building the site."""
    rows = ["| name | parameters | purpose |", "|---|---|---|"]
    for name, function in public_functions().items():
        parameters = ", ".join(map(parameter, parameters_of(function)))
        purpose = (inspect.getdoc(function) or "").split("\n\n")[0]
        rows.append(f"| `il.{name}` | {cell(parameters)} | {cell(purpose)} |")
    return "\n".join(rows)


def public_functions() -> dict[str, Any]:
    """Return the functions and constructors of `interlace` by name."""
    named: dict[str, Any] = {name: getattr(interlace, name) for name in interlace.__all__}
    named["report"] = type(interlace.report).__call__  # a package that can be called
    pairs = named.pop("Pairs")
    for name in vars(pairs):
        if name.startswith("from_"):
            named[f"Pairs.{name}"] = getattr(pairs, name)
    return dict(sorted(named.items()))


def parameters_of(function: Any) -> list[inspect.Parameter]:
    """The parameters of a function or class, without `self`."""
    return [
        one for one in inspect.signature(function).parameters.values() if one.name != "self"
    ]


def parameter(one: inspect.Parameter) -> str:
    """A parameter as in a call."""
    stars = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}.get(
        one.kind, ""
    )
    default = "" if one.default is one.empty else f"={one.default!r}"
    return f"`{stars}{one.name}{default}`"


# Pages


def llms() -> str:
    """The pages of the navigation by section, each with its first sentence (llmstxt.org)."""
    index = (DOCS / "index.md").read_text(encoding="utf-8")
    _, about, _ = index.split("\n\n", 2)
    parts = [f"# interlace\n\n> {' '.join(about.split())}\n"]
    for caption, names in NAVIGATION.findall(index):
        parts.append(f"## {caption}\n")
        for name in names.split():
            title, sentence = heading(name)
            parts.append(f"- [{title}]({name}.html): {sentence}")
        parts.append("")
    return "\n".join(parts)


def heading(name: str) -> tuple[str, str]:
    """The title and the first sentence of a page or notebook."""
    page = DOCS / f"{name}.md"
    if page.is_file():
        text = page.read_text(encoding="utf-8")
    else:
        notebook = json.loads(page.with_suffix(".ipynb").read_text(encoding="utf-8"))
        text = "".join(notebook["cells"][0]["source"])
    title, paragraph, *_ = text.split("\n\n")
    plain = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", " ".join(paragraph.split()))
    sentence, _, _ = plain.partition(". ")
    return title.removeprefix("# "), f"{sentence.rstrip('.:')}."


# Error messages


def write_examples(folder: Path) -> None:
    """The files that the commands of the page on errors read."""
    files = {
        "train.en": "one\ntwo\n",
        "train.de": "eins\n",
        "latin.en": "",
        "tags": "PRON VERB ADV\n",
    }
    files |= {
        "text.en": "It rains, again.\n",
        "text.de": "Es regnet, wieder.\n",
        "links": "0-0 1-1\n",
    }
    files["mine.toml"] = 'name = "mine"\n[objectives.mlm]\nmax_len = 128\n'
    files["missing.toml"] = (
        'name = "mine"\ndata_root = "."\n[objectives.mlm]\n'
        '[corpora.text]\nlanguages = ["en"]\ntrain = "tran.{language}"\n'
    )
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")
    (folder / "latin.en").write_bytes("eins\nschön\n".encode("latin-1"))


def printed(command: str, folder: str) -> str:
    """What a command prints."""
    before = Path.cwd()
    os.chdir(folder)
    try:
        done = CliRunner().invoke(
            application(),
            shlex.split(command)[1:],
            env={"COLUMNS": "120"},
            standalone_mode=False,
        )
    finally:
        os.chdir(before)
    error = done.exception
    told = ""
    if error is not None and not isinstance(error, SystemExit):
        told = f"error: {block(explanation(error) or '')}\n"
    output = done.output.replace(f"{Path(folder).absolute()}{os.sep}", "")
    return re.sub(r"^\d\d:\d\d:\d\d .*\n", "", output, flags=re.MULTILINE) + told


GENERATED = {
    "functions": functions,
    "commands": commands,
    "recipe": recipe_keys,
    "study": study_keys,
    "entries": entries,
    "published": published,
}

if __name__ == "__main__":
    for name in PAGES:
        path = DOCS / name
        path.write_text(up_to_date(path.read_text(encoding="utf-8")), encoding="utf-8")
    (DOCS / "llms.txt").write_text(llms(), encoding="utf-8")
