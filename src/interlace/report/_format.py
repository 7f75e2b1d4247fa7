"""How numbers, times and lists are written on the page."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING

from interlace.report._languages import NAMES

if TYPE_CHECKING:
    from collections.abc import Sequence

MINUS = "\N{MINUS SIGN}"
NARROW = "\N{NARROW NO-BREAK SPACE}"
DASH = "\N{EN DASH}"
NOTHING = "\N{EM DASH}"
BLEU = "BLEU"  # the unit of translation, which no transfer is measured in

_TASKS = {
    "embedding_alignment": "Alignment of the input table",
    "mlqa": "Question answering",
    "mt": "Translation",
    "round_trip": "Round trips",
    "ner": "Named entities",
    "paws_x": "Paraphrases",
    "pawsx": "Paraphrases",
    "perplexity": "Perplexity",
    "pos": "Part-of-speech tagging",
    "retrieval": "Sentence retrieval",
    "word_alignment": "Word alignment",
    "word_similarity": "Word similarity",
    "word_translation": "Word translation",
    "xnli": "Natural language inference",
}


def number(value: float, digits: int = 1) -> str:
    """A number with a real minus sign and thousands apart.

    >>> number(-12345.678)
    '−12\u202f345.7'
    """
    if not math.isfinite(value):
        return NOTHING
    text = f"{abs(value):,.{digits}f}".replace(",", NARROW)
    return f"{MINUS}{text}" if value < 0 and float(f"{value:.{digits}f}") != 0 else text


def significant(value: float, digits: int = 3) -> str:
    """A number to so many significant digits: 0.0213, 5.31, 40.1, 1 204; very small and large ones as powers of ten."""
    if not math.isfinite(value):
        return NOTHING
    if value == 0:
        return "0"
    exponent = math.floor(math.log10(abs(value)))
    if not -4 <= exponent < 7:
        mantissa, power = f"{value:.{digits - 1}e}".split("e")
        return f"{mantissa}e{int(power)}".replace("-", MINUS)
    return number(value, max(0, digits - 1 - exponent))


def signed(value: float, digits: int = 1) -> str:
    """A difference: `+4.2`, `−0.3`, or `0.0` without a sign."""
    text = number(value, digits)
    return f"+{text}" if value > 0 and float(f"{value:.{digits}f}") != 0 else text


def spread(low: float, high: float, digits: int = 1) -> str:
    """A range `82.1–84.0`, or one number where both ends read the same."""
    first, last = number(low, digits), number(high, digits)
    return first if first == last else f"{first}{DASH}{last}"


def count(value: float) -> str:
    """A large count to read: `512`, `48 210`, `1.31 million`."""
    for size, word in ((1e12, "trillion"), (1e9, "billion"), (1e6, "million")):
        if value >= size:
            return f"{significant(value / size)} {word}"
    return number(value, 0)


def duration(seconds: float) -> str:
    """`0.4 s`, `48 s`, `2 min 14 s`, `3 h 5 min`."""
    if seconds < 9.95:
        return f"{number(seconds)} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{number(whole // 3600, 0)} h {whole % 3600 // 60} min"


def joined(words: Sequence[str], last: str = "and") -> str:
    """`a`, `a and b`, `a, b and c`."""
    return " ".join([", ".join(words[:-1]), last, words[-1]]) if len(words) > 1 else "".join(words)


def counted(how_many: int, noun: str) -> str:
    """`one seed`, `three seeds`, `14 seeds`."""
    small = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
    word = small[how_many] if how_many < len(small) else number(how_many, 0)
    return f"{word} {noun}{'' if how_many == 1 else 's'}"


def language_name(code: str) -> str:
    """The English name of a language, a pair of them, or a side of a pair; a code we do not know stays as it is.

    >>> [language_name(code) for code in ("de", "en-de", "en-de:de", "zh-TW", "xx")]
    ['German', 'English \N{EN DASH} German', 'German (English \N{EN DASH} German)', 'Chinese (TW)', 'xx']
    """
    within, _, code = code.rpartition(":")
    if within:
        return f"{language_name(code)} ({language_name(within)})"
    if code in NAMES:
        return NAMES[code]
    first, _, rest = code.replace("_", "-").partition("-")
    if first not in NAMES:
        return code
    return f"{NAMES[first]} {DASH} {NAMES[rest]}" if rest in NAMES else f"{NAMES[first]} ({rest})"


def task_name(task: str) -> str:
    """What a task is called in a heading."""
    return _TASKS.get(task, task)


def heading(task: str, setting: str) -> str:
    """What a table of a task is called: the setting is named where it is not zero-shot."""
    return task_name(task) if setting == "zero-shot" else f"{task_name(task)}, {setting}"


def task_in_text(task: str) -> str:
    """What a task is called within a sentence."""
    name = task_name(task)
    return name[:1].lower() + name[1:] if name != task else name


def short_labels(names: Sequence[str]) -> list[str]:
    """The names without the words they all begin or end with, for direct labels in figures.

    >>> short_labels(["multi30k-mlm", "multi30k-tlm"])
    ['mlm', 'tlm']
    >>> short_labels(["mlm", "mlm+tlm"])
    ['mlm', 'mlm+tlm']
    """
    parts = [re.split(r"(?<=[-_./ ])", name) for name in names]
    while len(parts) > 1 and min(map(len, parts)) > 1 and len({part[0] for part in parts}) == 1:
        parts = [part[1:] for part in parts]
    return ["".join(part) for part in parts]


def clipped(text: str, length: int) -> str:
    """The text, cut with an ellipsis where it is longer."""
    return text if len(text) <= length else f"{text[: length - 1]}\N{HORIZONTAL ELLIPSIS}"
