"""Formatting of numbers, durations, languages and tasks, and the HTML templates."""

import math
import re
from collections.abc import Sequence
from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from interlace.core.display import visible

MINUS = "\N{MINUS SIGN}"
NARROW = "\N{NARROW NO-BREAK SPACE}"
DASH = "\N{EN DASH}"
MISSING = "\N{EM DASH}"

_TASKS = {
    "embedding_alignment": "Word translation from input embeddings",
    "mlqa": "Question answering",
    "mt": "Translation",
    "round_trip": "Round-trip translation",
    "ner": "Named entities",
    "pawsx": "Paraphrases",
    "perplexity": "Perplexity",
    "pos": "Part-of-speech tagging",
    "retrieval": "Sentence retrieval",
    "word_alignment": "Word alignment",
    "word_similarity": "Word similarity",
    "word_translation": "Bilingual lexicon induction",
    "xnli": "Natural language inference",
}
_LANGUAGES = """
af Afrikaans|am Amharic|ar Arabic|az Azerbaijani|be Belarusian|bg Bulgarian|bn Bengali|br Breton|bs Bosnian|ca Catalan
ceb Cebuano|cs Czech|cy Welsh|da Danish|de German|el Greek|en English|eo Esperanto|es Spanish|et Estonian|eu Basque
fa Persian|fi Finnish|fo Faroese|fr French|fy Frisian|ga Irish|gd Scottish Gaelic|gl Galician|gu Gujarati|ha Hausa
he Hebrew|hi Hindi|hr Croatian|hu Hungarian|hy Armenian|id Indonesian|ig Igbo|is Icelandic|it Italian|ja Japanese
jv Javanese|ka Georgian|kk Kazakh|km Khmer|kn Kannada|ko Korean|ku Kurdish|ky Kyrgyz|la Latin|lb Luxembourgish|lo Lao
lt Lithuanian|lv Latvian|mg Malagasy|mk Macedonian|ml Malayalam|mn Mongolian|mr Marathi|ms Malay|mt Maltese|my Burmese
nb Norwegian|ne Nepali|nl Dutch|nn Nynorsk|no Norwegian|oc Occitan|or Odia|pa Punjabi|pl Polish|ps Pashto|pt Portuguese
qu Quechua|ro Romanian|ru Russian|sa Sanskrit|si Sinhala|sk Slovak|sl Slovene|so Somali|sq Albanian|sr Serbian
su Sundanese|sv Swedish|sw Swahili|ta Tamil|te Telugu|tg Tajik|th Thai|tl Tagalog|tr Turkish|tt Tatar|ug Uyghur
uk Ukrainian|ur Urdu|uz Uzbek|vi Vietnamese|wo Wolof|xh Xhosa|yi Yiddish|yo Yoruba|zh Chinese|zu Zulu
"""
# ISO 639
_NAMES = dict(entry.split(" ", 1) for entry in _LANGUAGES.strip().replace("\n", "|").split("|"))


def number(value: float, digits: int = 1) -> str:
    """Format a number with a minus sign and thousands separators.

    >>> number(-12345.678)
    '−12\u202f345.7'
    """
    if not math.isfinite(value):
        return MISSING
    text = f"{abs(value):,.{digits}f}".replace(",", NARROW)
    return f"{MINUS}{text}" if value < 0 and float(f"{value:.{digits}f}") != 0 else text


def significant(value: float, digits: int = 3) -> str:
    """Format a number with that many significant digits: 0.0213, 5.31, 40.1, 1 204."""
    if not math.isfinite(value):
        return MISSING
    if value == 0:
        return "0"
    exponent = math.floor(math.log10(abs(value)))
    if not -4 <= exponent < 7:
        mantissa, power = f"{value:.{digits - 1}e}".split("e")
        return f"{mantissa}e{int(power)}".replace("-", MINUS)
    return number(value, max(0, digits - 1 - exponent))


def count(value: float | None) -> str:
    """Format a large count: `512`, `48 210`, `1.31 million`; a dash for None or 0."""
    if not value:
        return MISSING
    for size, word in ((1e12, "trillion"), (1e9, "billion"), (1e6, "million")):
        if value >= size:
            return f"{significant(value / size)} {word}"
    return number(value, 0)


def duration(seconds: float | None) -> str:
    """Format seconds: `0.4 s`, `48 s`, `2 min 14 s`, `3 h 5 min`; a dash for None or 0."""
    if not seconds:
        return MISSING
    if seconds < 9.95:
        return f"{number(seconds)} s"
    minutes, remainder = divmod(round(seconds), 60)
    if not minutes:
        return f"{remainder} s"
    if minutes < 60:
        return f"{minutes} min {remainder} s"
    return f"{number(minutes // 60, 0)} h {minutes % 60} min"


def p_value(p: float) -> str:
    """Format a p-value: `p < 0.001` or `p = 0.04`."""
    return "p < 0.001" if p < 0.001 else f"p = {p:.2g}"


def percent(value: float, digits: int = 0) -> str:
    """Format a percentage with its sign."""
    return f"{number(value, digits)}{NARROW}%"


def language_name(code: str) -> str:
    """Return the English name of a language, a pair, or a side of a pair; unknown codes are returned as they are.

    >>> [language_name(code) for code in ("de", "en-de", "en-de:de", "zh-TW", "xx")]
    ['German', 'English \N{EN DASH} German', 'German (English \N{EN DASH} German)', 'Chinese (TW)', 'xx']
    """
    pair, _, code = code.rpartition(":")
    if pair:
        return f"{language_name(code)} ({language_name(pair)})"
    if code in _NAMES:
        return _NAMES[code]
    source, _, target = code.replace("_", "-").partition("-")
    if source not in _NAMES:
        return code
    if target in _NAMES:
        return f"{_NAMES[source]} {DASH} {_NAMES[target]}"
    return f"{_NAMES[source]} ({target})"


def language_names(codes: Sequence[str]) -> str:
    """Return the names of languages, separated by commas."""
    return ", ".join(map(language_name, codes))


def task_name(task: str, setting: str = "zero-shot") -> str:
    """Return the title of a task, with its setting unless that is zero-shot."""
    name = _TASKS.get(task, task)
    return name if setting == "zero-shot" else f"{name}, {setting}"


def short_labels(names: Sequence[str]) -> list[str]:
    """Return the names without the words that all begin with, for labels in figures.

    >>> short_labels(["multi30k-mlm", "multi30k-tlm"])
    ['mlm', 'tlm']
    """
    parts = [re.split(r"(?<=[-_./ ])", name) for name in names]
    while len(parts) > 1 and min(map(len, parts)) > 1 and len({part[0] for part in parts}) == 1:
        parts = [part[1:] for part in parts]
    return ["".join(part) for part in parts]


def clipped(text: str, length: int) -> str:
    """Return the text, cut with an ellipsis if it is longer."""
    return text if len(text) <= length else f"{text[: length - 1]}\N{HORIZONTAL ELLIPSIS}"


@cache
def _environment() -> Environment:
    return Environment(
        loader=PackageLoader("interlace", "report/templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_short,
    )


def _short(value: object) -> object:
    """Return a coordinate of a figure with at most two decimals; anything else as it is."""
    return f"{value:.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else value


def render(template: str, **values: Any) -> Markup:
    """Fill in `templates/TEMPLATE.html.jinja`; all strings are escaped except `Markup`, control characters visible."""
    page = _environment().get_template(f"{template}.html.jinja").render(**values)
    # not allowed in XML
    text = re.sub("[\ufffe\uffff]", "\N{REPLACEMENT CHARACTER}", visible(page))
    return Markup(text)  # noqa: S704 - autoescaped
