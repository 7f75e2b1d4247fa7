"""Extract a phrase table."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from interlace.cli import Code, load_plugins
from interlace.cli.common import alignment_options as options


def phrases(
    files: options.Linked,
    confidence: options.Grades = None,
    min_confidence: options.LeastConfidence = 0.0,
    max_length: options.Longest = 4,
    min_count: options.LeastCount = 1,
    top: options.Top = 0,
    tight: options.Tight = False,
    languages: options.Languages = "",
    word_tokenizer: options.WordTokenizerName = "whitespace",
    reader: options.ReaderName = "",
    into: options.Into = None,
    code: Code = [],
    as_json: options.Summary = False,
) -> None:
    """Extract phrase pairs from word-aligned text: a Moses phrase table with scores, alignments and counts."""
    load_plugins(code)
    from interlace.alignment.phrase_table import PhraseTable, TableRules
    from interlace.cli.common.alignment import file_to, linked, must_leave_room, say

    must_leave_room(into, as_json)
    rules = TableRules(max_phrase_length=max_length, unaligned_borders=not tight, min_count=min_count, top=top)
    with TemporaryDirectory() as folder:
        text, counts = Path(folder, "text"), Path(folder, "counts")
        text.mkdir()
        counts.mkdir()
        words, links = linked(files, (confidence, min_confidence), languages, word_tokenizer, reader, text)
        table = PhraseTable.count(words, links, rules, counts)
        with file_to(into, Path(folder)) as path:
            table.write(path)
    found = {"pairs": len(words), "links": len(links.flat), "phrase_pairs": len(table)}
    say(into, as_json, {**found, "source_phrases": len(table.source), "target_phrases": len(table.target)})
