"""The page of registered findings: its tables are made from the studies.

    python tests/support/findings_page.py

brings it up to date.
"""

from __future__ import annotations

import re
from pathlib import Path

from interlace.experiments.studies import STUDIES, Study, read_study
from interlace.scores.findings import FindingSide, StudyFinding

PAGE = Path(__file__).parents[2] / "docs" / "findings.md"
_BLOCK = re.compile(r"(<!-- findings -->\n).*?(<!-- end of findings -->)", re.DOTALL)


def up_to_date(page: str) -> str:
    """The page as it should be."""
    studies = [(name, read_study(name)[0]) for name in STUDIES.names()]
    tables = "\n".join(_table(name, study) for name, study in studies if study.findings)
    return _BLOCK.sub(lambda found: f"{found[1]}\n{tables}\n{found[2]}", page)


def _table(name: str, study: Study) -> str:
    seeds = ", ".join(map(str, study.seeds))
    lines = [
        f"## `{name}`, seeds {seeds}",
        "",
        "| Claim | Source | First side | Second side | Measured | Margin | Family |",
    ]
    lines.append("|---|---|---|---|---|---:|---|")
    for one in study.findings.values():
        first, second = (_parts(side) for side in one.sides)
        sides = [
            ", ".join(a for a, b in zip(*pair, strict=True) if a != b)
            for pair in ((first, second), (second, first))
        ]
        common = ", ".join(a for a, b in zip(first, second, strict=True) if a == b)
        lines.append(
            f"| {one.claim} | {one.source} | {sides[0]} | {sides[1]} | {common} | {_margin(one)} | {one.family} |"
        )
    return "\n".join(lines) + "\n"


def _parts(side: FindingSide) -> list[str]:
    return [
        side.system,
        *map(str, side.axes.values()),
        side.task,
        side.metric or "main metric",
        side.setting or "zero-shot",
        side.language or "mean",
    ]


def _margin(one: StudyFinding) -> str:
    return ("± " if one.kind == "equal" else "") + f"{one.margin:g}"


if __name__ == "__main__":
    PAGE.write_text(up_to_date(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
