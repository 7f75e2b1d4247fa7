"""Generate code-switched text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from interlace.cli import Code, load_plugins, notes, print_line
from interlace.cli.common import options
from interlace.cli.common.options import AlignedTextOptions
from interlace.core.errors import SettingsError, did_you_mean
from interlace.core.json_files import JsonObject
from interlace.core.settings import Settings

if TYPE_CHECKING:
    from interlace.cli.common.aligned_text import AlignedText
    from interlace.objectives.common.code_switched_text import CodeSwitchedText, SwitchedBlock

S = TypeVar("S", bound=Settings)


def code_switch(
    text: AlignedTextOptions,
    changes: Annotated[
        list[str],
        typer.Option(
            "--set",
            metavar="KEY=VALUE",
            help="A setting: copies=20, monolingual=0.1, switch_fraction=0.3, max_phrase_length=4, min_count=1, "
            "target_choice=in_pair, unaligned_borders=true, seed=0 (repeatable).",
        ),
    ] = [],
    into: options.OutputFile = None,
    code: Code = [],
) -> None:
    """Generate code-switched sentences from word-aligned text: phrases replaced by their translations, as in ALM."""
    load_plugins(code)
    from interlace.alignment.phrase_counts import count_phrases
    from interlace.alignment.phrase_rules import TableRules
    from interlace.cli.common.aligned_text import read_aligned_text
    from interlace.cli.common.output import bar_beside, lines_to
    from interlace.core.bars import watching
    from interlace.objectives.common.code_switched_text import CodeSwitchedText, CopySettings
    from interlace.objectives.common.code_switching import CodeSwitching

    settings = options.nested_changes(changes, "KEY=VALUE, such as copies=5")
    known_keys = {
        *TableRules.model_fields,
        *CodeSwitching.model_fields,
        *CopySettings.model_fields,
    }
    for key in settings.keys() - known_keys:
        raise SettingsError(f"--set {key}: unknown key{did_you_mean(key, known_keys)}")
    rules = _settings_of(TableRules, settings)
    switching = _settings_of(CodeSwitching, settings)
    copies = _settings_of(CopySettings, settings)
    aligned = read_aligned_text(text)
    with watching(notes):
        table = count_phrases(aligned.words, aligned.links, rules)
    switched_text = CodeSwitchedText(table, rules, switching, copies)
    line_count = 0
    pair_counts: Counter[int] = Counter()  # by number of distinct mixed lines
    with lines_to(into) as write, bar_beside(into) as progress:
        for block in _switched_blocks(aligned, switched_text):
            write(block.lines)
            line_count += len(block.lines)
            pair_counts.update(block.mixed_counts.tolist())
            progress("code-switching", pair_counts.total(), len(aligned.links))
    print_line(f"{line_count:,} lines of {len(aligned.links):,} pairs", notes)
    histogram = ", ".join(f"{lines}: {pairs:,}" for lines, pairs in sorted(pair_counts.items()))
    print_line(f"pairs by their number of distinct mixed lines: {histogram}", notes)
    if into is not None:
        print_line(into)


def _settings_of(kind: type[S], settings: JsonObject) -> S:
    """Return settings of a class with the keys that it has."""
    keys = settings.keys() & kind.model_fields.keys()
    return kind.read({key: settings[key] for key in keys}, "--set")


def _switched_blocks(
    aligned: AlignedText, switched_text: CodeSwitchedText
) -> Iterator[SwitchedBlock]:
    """Read the text again, for its characters, and draw code-switched lines."""
    start = 0
    for chunk in aligned.text.chunks():
        stop = start + len(chunk)
        yield from switched_text.blocks(
            chunk, aligned.words.slice(start, stop), aligned.links.slice(start, stop)
        )
        start = stop
