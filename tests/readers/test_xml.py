"""Translation memories and Wikipedia dumps."""

import bz2
import time
from importlib.metadata import version

import pytest

from interlace.core.errors import DataError, MissingDependencyError
from interlace.readers import READERS

TMX = """<?xml version="1.0" encoding="{encoding}"?>
<!DOCTYPE tmx SYSTEM "tmx14.dtd">
<tmx version="1.4"><header srclang="en"/><body>
<tu><prop type="x">1</prop>
 <tuv xml:lang="EN-us"><seg>Press <bpt i="1">&lt;b></bpt>Enter<ept>&lt;/b></ept> &amp; <hi>wait</hi>.</seg></tuv>
 <tuv lang="de"><seg>Drücken Sie
  Enter</seg></tuv></tu>
<tu><tuv xml:lang="en"><seg>only</seg></tuv><tuv xml:lang="fr"><seg>seulement</seg></tuv></tu>
<tu><tuv xml:lang="en-GB"><seg>colour</seg></tuv><tuv xml:lang="en"><seg>color</seg></tuv>
 <tuv xml:lang="de"><seg>Farbe</seg></tuv><tuv xml:lang="de"><seg>Kolorit</seg></tuv></tu>
</body></tmx>
"""


def read(name, path, *languages, **settings):
    return list(READERS.build({"name": name, **settings}).read_chunks([path], list(languages)))


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "iso-8859-1"])
def test_tmx_segments_by_language(tmp_path, encoding):
    path = tmp_path / "a.tmx"
    path.write_bytes(TMX.format(encoding=encoding).encode(encoding))
    (pairs,) = read("tmx", path, "de", "en")
    assert pairs.source.lines == ["Drücken Sie   Enter", "Farbe"]
    assert pairs.target.lines == ["Press Enter & wait.", "color"]
    assert pairs.notes == {
        "units without a segment in each language left out": 1,
        "line feeds read as spaces": 1,
    }
    assert read("tmx", path, "en_gb")[0].lines == ["colour"]


def test_tmx_of_any_depth(tmp_path):
    segment = f"a <ph>x <hi>y</hi></ph>{'<hi>' * 30_000}b{'</hi>' * 30_000} c"
    (tmp_path / "a.tmx").write_text(
        f'<tmx><tu><tuv lang="en"><seg>{segment}</seg></tuv></tu></tmx>'
    )
    (text,) = read("tmx", tmp_path / "a.tmx", "en")
    assert text.lines == ["a b c"]


@pytest.mark.parametrize("begin", ["<tu><tuv><seg>", "<tu><tuv><seg a='", "<header a='"])
def test_an_element_that_would_fill_the_memory_is_named(tmp_path, begin):
    (tmp_path / "a.tmx.bz2").write_bytes(
        bz2.compress(f"<tmx>\n{begin}".encode() + b"a" * 40_000_000)
    )
    with pytest.raises(DataError, match=r"a\.tmx\.bz2, line 2: an element of more than 8 MB"):
        read("tmx", tmp_path / "a.tmx.bz2", "en")


@pytest.mark.parametrize("doctype", ['<!DOCTYPE t SYSTEM "t.dtd">', "<!DOCTYPE t [%more;]>", ""])
@pytest.mark.parametrize(
    ("name", "around"),
    [
        ("tmx", '<tmx>\n<tu><tuv lang="en"><seg>{}</seg></tuv></tu></tmx>'),
        ("wikipedia", "<m>\n<page><ns>0</ns><revision><text>{}</text></revision></page></m>"),
    ],
)
def test_an_entity_that_is_not_declared_is_named(tmp_path, doctype, name, around):
    (tmp_path / "a.xml").write_text(doctype + around.format("a caf&eacute; &amp; &#233;"))
    with pytest.raises(
        DataError, match=r"a\.xml, line [12]: .*(entity &(eacute|more);|undefined entity)"
    ):
        read(name, tmp_path / "a.xml", "en")


@pytest.mark.parametrize("mark", ["", "\ufeff"])
@pytest.mark.parametrize(
    "begin",
    ["", "\n", "<?xml version='1.0' standalone='no'?>", "<?xml version='1.0'\nencoding=\"{}\" ?>"],
)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16-le", "utf-16-be"])
@pytest.mark.parametrize(
    "unit",
    [
        "<tu>\n<tuv xml:lang='e&n;n'><seg>a</seg></tuv></tu>",
        "<tu>\n<prop a='&eacute;'>b</prop><tuv lang='en'><seg>a</seg></tuv></tu>",
        '<!--&b;-->\n<prop><![CDATA[&b;]]><x a="&lt;b> &b\u00e9;"/></prop>',
    ],
)
def test_an_entity_of_an_attribute_that_is_not_declared_is_named(
    tmp_path, mark, begin, encoding, unit
):
    path = tmp_path / "a.tmx"
    whole = mark + begin.format(encoding[:6]) + "<!DOCTYPE tmx SYSTEM 'tmx14.dtd'><tmx>{}</tmx>"
    known = "<tu><tuv lang='en'><seg x='&amp;'>caf&#233;</seg></tuv></tu>"
    path.write_bytes(whole.format(known).encode(encoding))
    (text,) = read("tmx", path, "en")
    assert text.lines == ["caf\u00e9"]
    path.write_bytes(whole.format(f"{known}{unit}").encode(encoding))
    line = begin.count("\n") + 2
    with pytest.raises(
        DataError, match=rf"a\.tmx, line {line}: .*undefined entity.* replace it by its character"
    ):
        read("tmx", path, "en")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (TMX, "no translation unit <tu> in en and sw; .*de, en, en-gb, en-us, fr"),
        (
            "<tmx>\n<tu><tuv>\n<seg>a</seg></tuv></tu></tmx>",
            "line 2: expected a language and <seg>",
        ),
        ('<!DOCTYPE t [<!ENTITY a "b">]><tmx>&a;</tmx>', "line 1: declares the entity 'a'"),
        (
            '<!DOCTYPE t [<!ENTITY a SYSTEM "/etc/hosts">]><tmx>&a;</tmx>',
            "line 1: declares the entity 'a'",
        ),
    ],
)
def test_tmx_errors_name_the_line(tmp_path, text, message):
    (tmp_path / "a.tmx").write_text(text.replace("{encoding}", "utf-8"))
    with pytest.raises(DataError, match=message):
        read("tmx", tmp_path / "a.tmx", "en", "sw")


PAGE = """{{Infobox|name={{nested|a}}}}
'''Ada''' was a [[mathematician|mathe''matician'']]<ref>{{cite|y}} x</ref> ({{a|b}}; ), see [https://a.org her page].
She&nbsp;wrote &ndash; <small>much</small><math>x^2</math>.
[[Datei:Ada.jpg|mini|A [[portrait]]]]
{| class="wikitable"
| a cell || [[another]]
|}
== Life ==
* an item
; term : definition
<!-- a comment -->
Second <nowiki>[[paragraph]]</nowiki>. [[Kategorie:Women]] [[fr:Ada]] __TOC__
"""
DUMP = """<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.10/"><siteinfo><namespaces>
<namespace key="6">Datei</namespace><namespace key="14">Kategorie</namespace></namespaces></siteinfo>
{}</mediawiki>"""


def page(text, space="0", redirect=""):
    text = text.replace("&", "&amp;").replace("<", "&lt;")
    return f"<page><title>A</title><ns>{space}</ns>{redirect}<revision><text>{text}</text></revision></page>\n"


def test_wikipedia_articles_a_paragraph_a_line(tmp_path):
    pages = [
        page(PAGE),
        page("talk", "1"),
        page("#REDIRECT [[A]]", redirect='<redirect title="A"/>'),
        page("Third."),
        page(""),
    ]
    path = tmp_path / "dump.xml.bz2"
    path.write_bytes(bz2.compress(DUMP.format("".join(pages)).encode()))
    (text,) = read("wikipedia", path, "de")
    assert text.lines == [
        "Ada was a mathematician, see her page. She wrote – much.",
        "Second [[paragraph]].",
        "Third.",
    ]


def test_wikipedia_errors(tmp_path, monkeypatch):
    (tmp_path / "a.xml").write_text(DUMP.format(page("talk", "1")))
    with pytest.raises(DataError, match="no article; expected a MediaWiki dump"):
        read("wikipedia", tmp_path / "a.xml", "de")
    monkeypatch.setitem(__import__("sys").modules, "mwparserfromhell", None)
    with pytest.raises(MissingDependencyError, match=r"pip install 'interlace\[wikipedia\]'"):
        read("wikipedia", tmp_path / "a.xml", "de")


def wikipedia_lines(folder, text, language):
    path = folder / "dump.xml"
    path.write_text(DUMP.format(page(text)))
    return [line for chunk in read("wikipedia", path, language) for line in chunk.lines]


@pytest.mark.parametrize(
    ("markup", "line"),
    [
        (
            "''open. \"A quote<ref>''B'' x</ref> goes on\nin the next '''line.",
            'open. "A quote goes on in the next line.',
        ),
        ("the ''Iliad'''s end", "the Iliad's end"),  # the cases of MediaWiki's doQuotes
        ("a '''b''''s '''''c''''' ''''''d'''''", "a b's c 'd"),
        ("<nowiki>''</nowiki>a<nowiki>'</nowiki>''b''", "''a'b"),
        (
            "A[[Bild:x y.JPG|thumb|200px|''B'' [[c]]]] d [[Fichier : Z.svg]][[image:e_f.png|left]].",
            "A d .",
        ),
        (
            "[[:fr:Ada|a]] [[:fr:B]] [[s:E|e]] [[:Datei:F.jpg]] [[de:G]]",
            "a fr:B e Datei:F.jpg",
        ),
        (
            "[[Star Trek: Picard]] [[C: The Money]] [[Word|.jpg]]",
            "Star Trek: Picard C: The Money .jpg",
        ),
        # a name of chemistry, in a language without variants
        ("1-{2-[3]ethyl}-4", "1-{2-[3]ethyl}-4"),
    ],
)
def test_wikipedia_markup_is_read_as_mediawiki_shows_it(tmp_path, markup, line):
    assert wikipedia_lines(tmp_path, markup, "en") == [line]


@pytest.mark.parametrize(
    ("language", "line"),
    [
        ("zh", "用计算机,缺省于,甲A:b9:30,a b"),
        ("zh-TW", "用计算机,預設于,乙A:b9:30,a b"),
        ("zho_Hans", "用计算机,缺省于,甲A:b9:30,a b"),
    ],
)
def test_wikipedia_language_variants(tmp_path, language, line):
    markup = (
        "用-{zh-hans:计算机;zh-hant:電腦;}-,-{zh-cn:缺省; zh-tw:[[x|預設]]}--{于}-,-{T|zh:题}--{A|zh-cn:甲;zh-tw:乙}-"
        "-{H|zh-cn:甲;zh-tw:乙}--{zh-hans;zh-hant|A:b}--{9:30}-,-{a -{zh-hk:b;zh-cn:c}-}--{-|x=>zh-cn:y}-"
    )
    assert wikipedia_lines(tmp_path, markup, language) == [line]
    assert wikipedia_lines(tmp_path, "-{zh-Hans:计;zh-Hant:電}--{zh-Hant|A}-", "zh-Hant") == ["電A"]


def test_wikipedia_language_variants_that_are_nested_too_deeply_cost_no_time(tmp_path):
    start = time.perf_counter()
    assert wikipedia_lines(tmp_path, "-{" * 12 + "a" + "}-" * 12, "zh") == ["-{-{a}-}-"]
    assert wikipedia_lines(tmp_path, "-{" * 20_000 + "a" + "}-" * 20_000, "zh")
    assert time.perf_counter() - start < 10  # 28 s on two cores without a limit


@pytest.mark.parametrize(
    "markup",
    [
        "{{a|" * 6000,  # takes over 10 s, as the next two
        "<a b=" * 4000,
        "\n{|\n|a" * 10_000,
        "== " * 100_000,  # crashes the parser
    ],
    ids=["templates", "attributes", "tables", "headings"],
)
def test_a_page_that_the_parser_cannot_read_is_left_out_and_counted(tmp_path, markup):
    pages = [page("before"), page(markup), page("after")]
    (tmp_path / "a.xml").write_text(DUMP.format("".join(pages)))
    if "==" in markup and version("mwparserfromhell") == "0.7.0":
        pytest.skip("this version does not crash")
    (text,) = read("wikipedia", tmp_path / "a.xml", "en")
    assert text.lines == ["before", "after"]
    assert text.notes == {"pages left out on whose markup the parser crashed or took too long": 1}


def test_a_page_inside_of_a_page_is_an_error(tmp_path):
    (tmp_path / "a.xml").write_text(
        DUMP.format(page("one").replace("</page>", "") + page("two") + "</page>")
    )
    with pytest.raises(
        DataError, match=r"a\.xml, line \d+: <page> inside of <page>; is </page> missing"
    ):
        read("wikipedia", tmp_path / "a.xml", "en")


def test_elements_are_not_nested_without_bound(tmp_path):
    (tmp_path / "a.xml").write_bytes(b"<m>" + b"<a>" * 3_000_000)
    with pytest.raises(DataError, match=r"a\.xml, line 1: elements inside of more than 100 others"):
        read("wikipedia", tmp_path / "a.xml", "en")


def test_a_dump_whose_pages_are_all_left_out_is_named(tmp_path):
    (tmp_path / "a.xml").write_text(DUMP.format(page("<a b=" * 4000)))
    with pytest.raises(DataError, match=r"a\.xml: pages left out .*all 1"):
        read("wikipedia", tmp_path / "a.xml", "en")
