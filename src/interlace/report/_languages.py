"""English names of languages by code (ISO 639); a table, so that the page says German and not de."""

from __future__ import annotations

_TABLE = """
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

NAMES: dict[str, str] = {
    code: name for code, _, name in (entry.partition(" ") for entry in _TABLE.strip().replace("\n", "|").split("|"))
}
