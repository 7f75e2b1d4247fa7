"""Translation memories, and XML that cannot be read."""

import bz2

import pytest

from interlace.core.errors import DataError
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


@pytest.mark.parametrize(
    "doctype", ['<!DOCTYPE t SYSTEM "t.dtd">', "<!DOCTYPE t [%more;]>", ""]
)
def test_an_entity_that_is_not_declared_is_named(tmp_path, doctype):
    segment = "a caf&eacute; &amp; &#233;"
    path = tmp_path / "a.tmx"
    path.write_text(f'{doctype}<tmx>\n<tu><tuv lang="en"><seg>{segment}</seg></tuv></tu></tmx>')
    with pytest.raises(DataError, match=r"a\.tmx, line [12]: .*undefined entity"):
        read("tmx", path, "en")


@pytest.mark.parametrize("mark", ["", "\ufeff"])
@pytest.mark.parametrize(
    "begin",
    [
        "",
        "\n",
        "<?xml version='1.0' standalone='no'?>",
        "<?xml version='1.0'\nencoding=\"{}\" ?>",
    ],
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
        DataError, match=rf"a\.tmx, line {line}: .*undefined entity.*replace each"
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
        ("<tmx><tu>" + "<tu>" * 9, "line 1: <tu> inside of <tu>; is </tu> missing"),
        (
            "<m>" + "<a>" * 3_000_000,
            r"a\.tmx, line 1: elements inside of more than 100 others",
        ),
    ],
    ids=["other language", "no language", "entity", "entity of a file", "itself", "deep"],
)
def test_tmx_errors_name_the_line(tmp_path, text, message):
    (tmp_path / "a.tmx").write_text(text.replace("{encoding}", "utf-8"))
    with pytest.raises(DataError, match=message):
        read("tmx", tmp_path / "a.tmx", "en", "sw")
