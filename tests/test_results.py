"""Commands on the pages of results: they resolve, and studies have the systems of the table below them."""

import re
import subprocess
from collections import Counter
from functools import cache
from pathlib import Path

import pytest
import typer

from interlace.cli import application
from interlace.cli.common.options import parse_changes
from interlace.experiments.recipe import read_recipe
from interlace.experiments.studies import cells_of, matching, read_study
from interlace.experiments.studies.folder import StudyFolder

PAGES = sorted((Path(__file__).parents[1] / "docs/results").glob("*.md"))
BLOCKS = re.compile(r"(?:^    .*\n|^\n(?=    ))+", re.MULTILINE)
PRINTED = 'interlace() { printf "%s\\0" "$@"; printf "\\n"; }\n'  # in place of the program


def commands(block):
    """The arguments of each command of a block, as bash passes them."""
    script = PRINTED + "\n".join(
        line[4:] for line in block.split("\n") if "python benchmarks/" not in line
    )
    done = subprocess.run(["bash", "-euc", script], check=True, capture_output=True, text=True)
    return [line.split("\0")[:-1] for line in done.stdout.split("\n")[:-1]]


def parsed(arguments):
    """The name of the command and its options by parameter, as the program parses them."""
    name, *rest = arguments
    command = typer.main.get_command(application()).commands[name]
    return name, command.make_context(name, rest).params


def cells(options):
    study, found = expanded(options["name"], tuple(options["changes"]))
    return study, matching(found, options["only"])


@cache
def expanded(name, changes):
    study, folder = read_study(name, parse_changes(list(changes)))
    return study, cells_of(study, folder)


def table_after(page, place):
    """The header and rows of the first table below, in the same section; empty if there is none."""
    section = re.split(r"^#", page[place:], maxsplit=1, flags=re.MULTILINE)[0]
    found = re.search(r"(?:^\|.*\n)+", section, re.MULTILINE)
    rows = found[0].strip().split("\n") if found else []
    return [
        [cell.strip() for cell in row.strip("|").split("|")]
        for row in rows
        if not re.match(r"^[|\- ]+$", row)
    ]


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_commands_resolve(path):
    made = set()
    for block in BLOCKS.findall(path.read_text(encoding="utf-8")):
        for name, options in map(parsed, commands(block)):
            if name == "pretrain":
                assert read_recipe(options["recipe"], parse_changes(options["changes"])).name
                made.add(str(options["into"]))
            elif name == "evaluate":
                assert options["model"] in made
            else:
                assert (name, bool(cells(options)[1])) == ("study", True)


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_studies_have_the_systems_and_seeds_of_the_table_below(path):
    page = path.read_text(encoding="utf-8")
    for block in BLOCKS.finditer(page):
        found = Counter()
        for name, options in map(parsed, commands(block[0])):
            if name == "study":
                study, some = cells(options)
                found.update(
                    dict.fromkeys({(study.label(cell.system), cell.seed) for cell in some}, 1)
                )
        table = table_after(page, block.end())
        if found and table:
            seeds = Counter(label for label, _ in found)
            head, *rows = table
            labels = {row[0] for row in rows}
            if not set(seeds) & labels:  # systems across
                labels = set(head) & set(seeds)
            assert set(seeds) == labels
            if "seeds" in head:
                assert {row[0]: int(row[head.index("seeds")]) for row in rows} == dict(seeds)


KEPT = sorted((Path(__file__).parents[1] / "results").glob("*/study.json"))


@pytest.mark.parametrize("path", KEPT, ids=lambda path: path.parent.name)
def test_studies_skip_the_kept_cells(path):
    """A setting that is removed or renamed must be removed or renamed in the kept records, too."""
    names = set()
    for page in PAGES:
        for block in BLOCKS.findall(page.read_text(encoding="utf-8")):
            for name, options in map(parsed, commands(block)):
                if name == "study" and options["into"] == Path("results") / path.parent.name:
                    names.add(options["name"])
    [command] = names
    place = StudyFolder(path.parent)
    kept = [cell for cell in expanded(command, ())[1] if place.cell(cell.name).is_dir()]
    # the others have the same settings
    assert {place.status(cell) for cell in kept if cell.seed == 0} == {"finished"}
    folders = {folder.name for folder in (path.parent / "cells").iterdir()}
    assert folders == {cell.name for cell in kept}
