"""Which side of pairs is in a language that an objective's setting names."""

from interlace.core.errors import SettingsError, did_you_mean
from interlace.text import LanguagePair


def side_in(language: str, languages: LanguagePair, setting: str) -> int:
    """Return the side of a language, 0 or 1; raise a SettingsError about the setting if neither is in it."""
    if language not in languages:
        raise SettingsError(
            f"{setting} = {language!r}, but the pairs are {' and '.join(languages)}"
            f"{did_you_mean(language, languages)}"
        )
    return languages.index(language)
