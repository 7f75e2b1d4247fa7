"""Detection of untokenized text and of numbered sentences, and the word tokenizer that `auto` means."""

import logging
import re
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from interlace.core.errors import DataError
from interlace.text import Text, TextPairs
from interlace.text.lines import read_lines
from interlace.text.scripts import is_unspaced

log = logging.getLogger(__name__)

AUTO = "auto"  # word tokenizer: `unicode` for untokenized text, else `whitespace`

_MIN_MARKS = 20  # punctuation marks needed for a decision
_MAX_CLAUSE = 8  # letters of an unspaced script between two spaces; more are not a word

_INSPECTED_LINES = 20
_NUMBERED = re.compile(r"\s*<s\s+snum\s*=|\d{1,18}\t")  # a line of a gold set
_MARK = "[.,!?;:。，！？；：।؟،]"
_ATTACHED = re.compile(rf"(?<=[^\W_]){_MARK}(?=\s)")
_SPACED = re.compile(rf"(?<=\s){_MARK}(?=\s)")


def is_untokenized(text: Text, rows: int = 500) -> bool:
    """Whether punctuation is attached to words, or whole lines or clauses have no space, in the first rows."""
    if _has_attached_punctuation(text, _MIN_MARKS):
        return True
    word_count = 0
    lengths = []  # of words in unspaced scripts
    line_count = 0  # with such words
    unbroken_count = 0  # of these lines, those that are a single word
    for row in range(min(len(text), rows)):
        words = text.tokens(row)
        unspaced_lengths = [len(word) for word in words if is_unspaced(word[0])]
        word_count += len(words)
        lengths += unspaced_lengths
        if unspaced_lengths:
            line_count += 1
            unbroken_count += len(words) == 1
    if len(lengths) * 5 <= word_count:
        return False
    return unbroken_count * 2 > line_count or sum(lengths) > _MAX_CLAUSE * len(lengths)


def _has_attached_punctuation(text: Text, min_marks: int) -> bool:
    """Whether more than 90 % of the punctuation marks before a space follow a letter and not a space."""
    lines = "\n".join([*text.lines, ""])
    spaced = len(_SPACED.findall(lines))
    attached = len(_ATTACHED.findall(lines))
    total = spaced + attached
    return total >= min_marks and spaced / total < 0.1


def word_tokenizer_for(*texts: Text) -> str:
    """Return the word tokenizer that `auto` means for the sides of a text, which are split at white space.

    Text with too few punctuation marks for a decision counts as tokenized, with a warning if they are attached.
    """
    if any(map(is_untokenized, texts)):
        return "unicode"
    if any(_has_attached_punctuation(text, min_marks=1) for text in texts):
        log.warning(
            "words are split at white space (word tokenizer 'whitespace'), since fewer than %d punctuation marks are "
            "too few to tell whether the text is tokenized; if it is not, name 'unicode'",
            _MIN_MARKS,
        )
    return "whitespace"


def check_not_numbered(path: Path) -> None:
    """Raise a DataError if the first lines are those of a gold set, whose numbers would be read as words."""
    lines = list(islice(filter(str.strip, read_lines(path)), _INSPECTED_LINES))
    if lines and all(map(_NUMBERED.match, lines)):
        raise DataError(
            f"{path}: its sentences are numbered, as in gold alignment sets ({lines[0][:30]!r}); name the reader "
            "'gold' (--reader gold), or 'lines' if the numbers are part of the text"
        )


def reader_with_word_tokenizer(
    kind: Any, paths: Sequence[Path], languages: Sequence[str], name: str, where: str
) -> Any:
    """Return a reader of a kind with a word tokenizer; `auto` as its name is chosen by the first rows of the files.

    where: section named in errors.
    """
    finds_words = "word_tokenizer" in kind.model_fields
    if name == AUTO and finds_words:
        first_chunk = next(kind().read_chunks(paths, list(languages)), None)
        if first_chunk is None:
            name = "whitespace"
        elif isinstance(first_chunk, TextPairs):
            name = word_tokenizer_for(first_chunk.source, first_chunk.target)
        else:
            name = word_tokenizer_for(first_chunk)
    if finds_words or name not in {AUTO, "whitespace"}:  # other readers report the unknown key
        return kind.read({"word_tokenizer": name}, where)
    return kind.read({}, where)
