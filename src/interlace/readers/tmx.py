"""Translation memories in TMX (Translation Memory eXchange 1.1 to 1.4)."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from xml.etree.ElementTree import Element

from interlace.core.display import listed
from interlace.core.errors import DataError
from interlace.readers.common.text import RowReader, one_line
from interlace.readers.common.xml import read_elements

_CODES = {"bpt", "ept", "it", "ph", "ut"}  # hold formatting codes of the original document


class Tmx(RowReader):
    """Pairs of a translation memory, or the segments of one language. A language `en` also matches `en-US`.

    Formatting codes inside segments are dropped, the text around them and highlighted text are kept. Units without a
    segment in each language are left out and counted; of several segments in a language the first is read.
    """

    def rows(
        self, languages: list[str], path: Path, notes: Counter[str]
    ) -> Iterator[list[str]]:
        """Yield the segments of each unit in these languages."""
        other_languages: set[str] = set()
        is_empty = True
        for line, unit in read_elements(path, "tu"):
            segments: dict[str, str] = {}
            for variant in unit.iter("tuv"):
                code = variant.get("xml:lang") or variant.get("lang")
                segment = variant.find("seg")
                if code is None or segment is None:
                    raise DataError(
                        f"{path}, line {line}: expected a language and <seg> in each <tuv>"
                    )
                segments.setdefault(_normalized(code), one_line(_text(segment), notes).strip())
            row = [_in_language(_normalized(language), segments) for language in languages]
            texts = [text for text in row if text is not None]
            if len(texts) == len(languages):
                is_empty = False
                yield texts
            else:
                notes["units without a segment in each language left out"] += 1
                other_languages.update(segments)
        if is_empty:
            raise DataError(
                f"{path}: no translation unit <tu> in {' and '.join(languages)}; name languages of the file, "
                f"such as --languages en,de; it has: {listed(sorted(other_languages)) or 'none'}"
            )


def _normalized(language: str) -> str:
    return language.lower().replace("_", "-")


def _in_language(language: str, segments: dict[str, str]) -> str | None:
    """Return the segment in a language or else in the first of its varieties; None if there is none."""
    varieties = (text for code, text in segments.items() if code.startswith(f"{language}-"))
    return segments.get(language, next(varieties, None))


def _text(element: Element) -> str:
    """Return the text of a segment without formatting codes."""
    codes = [part for part in element.iter() if part.tag in _CODES]
    for code in codes:
        following_text = code.tail
        code.clear()
        code.tail = following_text
    return "".join(element.itertext())
