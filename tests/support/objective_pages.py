"""Pages of objectives: what `interlace preview` prints in them, and tables of settings, are made from the code.

    python tests/support/objective_pages.py

brings all of them up to date.
"""

from __future__ import annotations

import re
import shlex
from pathlib import Path

from typer.testing import CliRunner

import pages
from interlace.cli import application
from interlace.cli.list_ import settings_rows
from interlace.objectives import OBJECTIVES

FOLDER = Path(__file__).parents[2] / "docs" / "objectives"
_TABLE = re.compile(r"(<!-- settings of (\w+) -->\n).*?(<!-- end of settings -->)", re.DOTALL)


def up_to_date(page: str) -> str:
    """The page as it should be."""
    page = _TABLE.sub(lambda found: f"{found[1]}{settings_table(found[2])}{found[3]}", page)
    return pages.CONSOLE.sub(
        lambda found: "".join(_shown(command) for command in pages.commands(found[0])), page
    )


def settings_table(name: str) -> str:
    """Every setting of an objective with its default and what it does, as a table."""
    lines = ["| Setting | Values | Default | What it does |", "|---|---|---|---|"]
    for row in settings_rows(OBJECTIVES.get(name)):
        kind, about = (row[key].replace("|", chr(92) + "|") for key in ("type", "about"))
        lines.append(f"| `{row['key']}` | {kind} | `{_toml(row['default'])}` | {about} |")
    return "\n".join(lines) + "\n"


def _toml(default: str) -> str:
    """A default as a recipe writes it."""
    words = {"True": "true", "False": "false", "None": "none"}
    return words.get(default, default.replace("'", '"').replace("(", "[").replace(")", "]"))


def _shown(command: str) -> str:
    words = shlex.split(command.replace("\\\n", " "))
    done = CliRunner().invoke(application(), words[1:], catch_exceptions=False)
    if words[0] != "interlace" or done.exit_code:
        message = f"{command}\nended with {done.exit_code}: {done.output}"
        raise RuntimeError(message)
    return f"$ {command}\n{done.stdout}"


if __name__ == "__main__":
    for path in sorted(FOLDER.glob("*.md")):
        path.write_text(up_to_date(path.read_text(encoding="utf-8")), encoding="utf-8")
