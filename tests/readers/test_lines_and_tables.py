"""Readers of lines and tables: lines, joined, gold, tsv, nli."""

import gzip

import pytest

from interlace.core.errors import DataError
from interlace.readers import READERS
from interlace.readers.common.files import find_files, find_sides
from interlace.text.lines import write_lines


@pytest.fixture
def read(tmp_path):
    """Writes files and reads all their chunks."""

    def make(reader, files, languages, **settings):
        for name, lines in files.items():
            write_lines(tmp_path / name, lines)
        paths = [tmp_path / name for name in files]
        return list(READERS.build({"name": reader, **settings}).read_chunks(paths, languages))

    return make


def sides(pairs):
    return list(zip(pairs.source.lines, pairs.target.lines, strict=True))


@pytest.mark.parametrize(("first", "second"), [(5, 3), (3, 5), (1, 2)])
def test_rejects_sides_of_different_length(read, first, second):
    with pytest.raises(DataError, match=rf"a\.en has {first} lines and .*a\.de has {second};"):
        read("lines", {"a.en": ["x"] * first, "a.de": ["y"] * second}, ["en", "de"])


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("2 .   ||| 2 .  ", ("2 .", "2 .")),
        ("un|||one", ("un", "one")),
        ("\tdeux |||two", ("deux", "two")),
        ("a|||b ||| c", ("a|||b", "c")),  # a separator between spaces takes precedence
        ("a ||| b|||c", ("a", "b|||c")),
    ],
)
def test_joined_sides_are_split_at_the_separator(read, line, expected):
    (pairs,) = read("joined", {"pairs": [line]}, ["fr", "en"])
    assert sides(pairs) == [expected]


def test_joined_keeps_and_counts_empty_sides(read):
    (pairs,) = read(
        "joined", {"pairs": ["a ||| b", "||| c", "d |||", "", "|||", "e ||| f"]}, ["fr", "en"]
    )
    assert sides(pairs) == [("a", "b"), ("", "c"), ("d", ""), ("", ""), ("", ""), ("e", "f")]
    assert pairs.notes == {"pairs with an empty side": 4}


@pytest.mark.parametrize(
    ("line", "count"),
    [("no separator", 0), ("a ||| b ||| c", 2), ("x ||| |||", 2)],
)
def test_joined_rejects_other_numbers_of_separators(read, line, count):
    with pytest.raises(
        DataError, match=rf"pairs, line 2: {count} separators '\|\|\|', expected one between"
    ):
        read("joined", {"pairs": ["a ||| b", line]}, ["fr", "en"])


TABLE = [
    "id\ten\tde\tsw\tclass",
    '1\tsay "yes"\tsag ja\t\tgood',
    "2\tno\tnein\thapana\tbad",
    "",
]


def test_tsv_columns_by_language_name_and_number(read):
    (pairs,) = read("tsv", {"table.tsv": TABLE}, ["sw", "en"])
    # quotes are literal, a cell may be empty
    assert sides(pairs) == [
        ("", 'say "yes"'),
        ("hapana", "no"),
    ]
    (text,) = read("tsv", {"table.tsv": TABLE}, ["xx"], columns=("de",), label="class")
    assert (text.language, text.lines, text.labels) == (
        "xx",
        ["sag ja", "nein"],
        ["good", "bad"],
    )
    rows = ["one\ttwo\t1", "three\tfour\t0"]
    (pairs,) = read("tsv", {"bare.tsv": rows}, ["en", "de"], header=False, label=2)
    assert (sides(pairs), pairs.labels) == ([("one", "two"), ("three", "four")], ["1", "0"])


SHORT = ["en\tde", "one\teins", "two"]


@pytest.mark.parametrize(
    ("rows", "languages", "settings", "message"),
    [
        (
            TABLE,
            ["fr"],
            {},
            r"a\.tsv: the header has no column 'fr'; there are: class, de, en, id, sw",
        ),
        (TABLE, ["en"], {"label": "clas"}, "no column 'clas'; did you mean 'class'"),
        (
            TABLE,
            ["en"],
            {"columns": ("en",), "header": False},
            "no column 'en'; there are none",
        ),
        (TABLE[:1], ["en"], {}, r"a\.tsv: no sentence, pair or question in en"),
        (
            ["en\tde\ten", "a\tb\tc"],
            ["en"],
            {},
            r"a\.tsv: several columns are named 'en'; rename or remove them",
        ),
        (SHORT, ["en"], {}, r"a\.tsv, line 3: 1 tab-separated columns, expected 2"),
    ],
)
def test_tsv_names_missing_columns(read, rows, languages, settings, message):
    with pytest.raises(DataError, match=message):
        read("tsv", {"a.tsv": rows}, languages, **settings)


def test_columns_of_one_name_are_read_by_number_or_not_at_all(read):
    rows = {"a.tsv": ["en\tde\ten", "a\tb\tc"]}
    assert read("tsv", rows, ["de"])[0].lines == ["b"]
    assert read("tsv", rows, ["en"], columns=(2,))[0].lines == ["c"]


HEADER = "language\tgold_label\tsentence1\tsentence2\tpairID\tgenre"


def test_nli_reads_pairs_of_one_language(read):
    rows = [HEADER, "en\tneutral\tHe reads.\tHe sleeps.\t1\tx", "de\tentailment\tc\td\t1\tx"]
    rows += ["en\t-\ta\tb\t1\tx"] * 2
    (pairs,) = read("nli", {"nli.tsv": rows}, ["en"])
    assert pairs.notes == {"pairs without a majority label left out": 2}
    assert (sides(pairs), pairs.labels) == ([("He reads.", "He sleeps.")], ["neutral"])
    with pytest.raises(DataError, match="no sentence, pair or question in fr"):
        read("nli", {"nli.tsv": rows}, ["fr"])


def test_nli_reads_sick_and_other_spellings_of_labels(read):
    rows = [
        "pair_ID\tsentence_A\tsentence_B\tentailment_judgment",
        "1\ta\tb\tENTAILMENT",
        "2\tc\td\tcontradictory",
    ]
    (pairs,) = read("nli", {"nli.tsv": rows}, ["en"])
    assert pairs.labels == ["entailment", "contradiction"]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (
            [HEADER, "en\tmaybe\ta\tb\t1\tx"],
            r"nli\.tsv, line 2: label 'maybe', expected one of entailment, neutral",
        ),
        (
            ["gold_label\tsentence_1\tsentence_2", "neutral\ta\tb"],
            "no column 'sentence1' or 'premise' or 'sentence_A'; did you mean 'sentence_1'",
        ),
    ],
)
def test_nli_names_unknown_labels_and_columns(read, rows, message):
    with pytest.raises(DataError, match=message):
        read("nli", {"nli.tsv": rows}, ["en"])


@pytest.fixture
def folder(tmp_path):
    """Files of two languages in folders, one of them hidden."""
    for name in (
        "de/a.de",
        "de/b/c.de",
        "en/a.en",
        "en/b/c.en",
        "flat/x1.en-de.en",
        "flat/x1.en-de.de",
        "[1]/a*.txt",
    ):
        write_lines(tmp_path / name, [name])
    write_lines(tmp_path / "en/.hidden", ["hidden"])
    return tmp_path


@pytest.mark.parametrize(
    ("pattern", "names"),
    [
        ("en", ["en/a.en", "en/b/c.en"]),
        ("en/*", ["en/a.en"]),
        ("**/*.de", ["de/a.de", "de/b/c.de", "flat/x1.en-de.de"]),
        ("flat/x?.*.en", ["flat/x1.en-de.en"]),
        ("[1]", ["[1]/a*.txt"]),
        ("hub:ada/set/en/train", ["hub:ada/set/en/train"]),
    ],
)
def test_patterns_name_files(folder, pattern, names):
    found = [str(path).removeprefix(f"{folder}/") for path in find_files(folder, pattern)]
    assert found == names


@pytest.mark.parametrize(
    ("links", "names"),
    [
        ({"en/loop": "..", "en/b/self": "."}, ["en/a.en", "en/b/c.en", "flat/x1.en-de.en"]),
        ({"a": "en", "en/c.en": "b/c.en"}, ["en/a.en", "en/b/c.en", "flat/x1.en-de.en"]),
        ({"only": "../outside"}, ["en/a.en", "en/b/c.en", "flat/x1.en-de.en", "only/d.en"]),
    ],
)
def test_links_never_lead_to_a_file_twice(folder, links, names):
    write_lines(folder.parent / "outside/d.en", ["x"])
    for name, target in links.items():
        (folder / name).symlink_to(target)
    assert [
        str(path).removeprefix(f"{folder}/") for path in find_files(folder, "**/*.en")
    ] == names


def test_links_to_each_other_are_not_followed_again_and_again(tmp_path):
    for name in ("a", "b", "c"):
        write_lines(tmp_path / name / "x.en", [name])
        for number in range(8):
            for target in ("a", "b", "c"):
                (tmp_path / name / f"{target}{number}").symlink_to(f"../{target}")
    assert find_files(tmp_path, "**/*.en") == [
        tmp_path / name / "x.en" for name in ("a", "b", "c")
    ]


@pytest.mark.parametrize(
    ("patterns", "expected"),
    [
        (("en", "de"), [("en/a.en", "de/a.de"), ("en/b/c.en", "de/b/c.de")]),
        (("flat/*.en", "flat/*.de"), [("flat/x1.en-de.en", "flat/x1.en-de.de")]),
    ],
)
def test_files_of_two_sides_correspond(folder, patterns, expected):
    paths = find_sides(folder, patterns, ("en", "de"))
    (pairs,) = READERS.build("lines").read_chunks(paths, ["en", "de"])
    assert sides(pairs) == expected
    for name in ("en/b/d.en", "flat/y.en"):
        write_lines(folder / name, ["x"])
    with pytest.raises(DataError, match=r"(d|y)\.en: no file of .* corresponds to it"):
        find_sides(folder, patterns, ("en", "de"))


def test_counterparts_follow_each_other_in_one_order(tmp_path):
    for name in ("src/en", "src/m", "tgt/zz", "tgt/m", "both/news.en", "both/news.de"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(name)
    paths = find_sides(tmp_path, ("src", "tgt"), ("en", "zz"))
    assert [path.name for path in paths] == ["en", "m", "zz", "m"]
    with pytest.raises(
        DataError,
        match=r"news\.de and .*news\.en: their names differ only in the languages en and de",
    ):
        find_sides(tmp_path, ("both", "both"), ("en", "de"))


def test_what_accompanies_data_is_left_out_unless_it_is_all_there_is(tmp_path):
    for name in ("a.txt", "links.txt.json", "README.md", "LICENSE.txt", "sub/readme"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("x")
    for pattern, names in (
        (".", ["a.txt"]),
        ("*.json", ["links.txt.json"]),
        ("*.md", ["README.md"]),
    ):
        assert [path.name for path in find_files(tmp_path, pattern)] == names


def test_lines_rejects_files_of_other_formats(read):
    with pytest.raises(DataError, match=r"a\.tmx: is not plain text; set the reader: 'tmx'"):
        read("lines", {"a.tmx": ["x"]}, ["en"])


@pytest.mark.parametrize("sides", [1, 2])
def test_chunks_of_long_lines_have_few_of_them(tmp_path, sides):
    line = "a " * 1_000_000
    paths = [tmp_path / f"a.{side}.gz" for side in range(sides)]
    for path in paths:
        write_lines(path, ["short"] * 150 + [line] * 9)
    chunks = list(READERS.build("lines").read_chunks(paths, ["en", "de"][:sides]))
    assert [len(chunk) for chunk in chunks] == [100, *[1] * 59]


@pytest.mark.parametrize(
    ("name", "row"), [("iob", "a\tO\n"), ("conllu", "1\ta\t_\tX\t_\t_\t_\t_\t_\t_\n")]
)
def test_a_sentence_without_an_end_is_named(tmp_path, name, row):
    (tmp_path / "a.gz").write_bytes(gzip.compress(row.encode() * 200_000))
    with pytest.raises(
        DataError, match=r"a\.gz, line 100001: a sentence of more than 100,000 tokens"
    ):
        list(READERS.build(name).read_chunks([tmp_path / "a.gz"], ["en"]))
