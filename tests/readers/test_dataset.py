"""Data sets as the hub lays them out, written to a folder in place of a repository, and read through `datasets`."""

import json
import sys
from pathlib import Path

import pytest

from command_line import run_code
from interlace.core.errors import DataError, MissingDependencyError
from interlace.core.files import MAX_LINE
from interlace.core.progress import reporting
from interlace.readers import READERS
from interlace.readers.common.hub import HubAddress
from interlace.text import Text, TextPairs
from little_hub import publish_split, take_apart

pytest.importorskip("datasets")
import pyarrow as pa
import pyarrow.parquet as pq
from datasets import ClassLabel, Dataset, Sequence, Value
from datasets.utils import are_progress_bars_disabled

TEXT = Value("string")
NLI = ["entailment", "neutral", "contradiction"]
NER = ["O", "B-PER", "I-PER"]
UPOS = ["NOUN", "_", "ADP", "DET"]


@pytest.fixture(autouse=True)
def _apart(tmp_path, monkeypatch):
    take_apart(monkeypatch, tmp_path / "cache")


@pytest.fixture
def publish(tmp_path):
    """Writes a split of one configuration of a repository; gives what names it."""

    def write(rows, features, configuration="de"):
        return publish_split(tmp_path / "data", f"ada/set/{configuration}/test", rows, features)

    return write


def read(address, *languages, **settings):
    reader = READERS.build({"name": "dataset", **settings})
    (chunk,) = reader.read_chunks([Path(address)], list(languages or ("de",)))
    return chunk


def test_xnli(publish):
    rows = [
        {"premise": "a\nb", "hypothesis": "c", "label": 0},
        {"premise": "d", "hypothesis": "e", "label": -1},
    ]
    features = {"premise": TEXT, "hypothesis": TEXT, "label": ClassLabel(names=NLI)}
    found = read(publish(rows, features))
    assert isinstance(found, TextPairs)
    assert (found.source.lines, found.target.lines) == (["a b", "d"], ["c", "e"])
    assert found.labels == ["entailment", ""]
    assert found.notes == {"line feeds read as spaces": 1}


def test_wikiann(publish):
    rows = [
        {"tokens": ["Ada", " ", "Byron", "lebt"], "ner_tags": [1, 0, 2, 0]},
        {"tokens": ["zu", "Byron"], "ner_tags": [0, 2]},
    ]
    found = read(
        publish(rows, {"tokens": Sequence(TEXT), "ner_tags": Sequence(ClassLabel(names=NER))})
    )
    assert isinstance(found, Text)
    assert found.lines == ["Ada Byron lebt", "zu Byron"]
    assert found.tags == {"names": [["B-PER", "I-PER", "O"], ["O", "B-PER"]]}
    assert found.tokens(0) == ["Ada", "Byron", "lebt"]
    assert found.notes == {
        "tokens of white space left out": 1,
        "I- without B- changed to B-": 1,
    }


def test_leaves_out_multiword_tokens_before_their_words(publish):
    rows = [{"tokens": ["im", "in", "dem", "Garten"], "upos": [1, 2, 3, 0]}]
    found = read(
        publish(rows, {"tokens": Sequence(TEXT), "upos": Sequence(ClassLabel(names=UPOS))})
    )
    assert found.lines == ["in dem Garten"]
    assert found.tags == {"pos": [["ADP", "DET", "NOUN"]]}


ANSWERS = {"text": Sequence(TEXT), "answer_start": Sequence(Value("int32"))}
QUESTIONS = {"id": TEXT, "context": TEXT, "question": TEXT, "answers": ANSWERS}


def test_selects_questions_by_language(publish):
    rows = [
        {
            "id": f"{name}-12-1",
            "context": "x y",
            "question": name,
            "answers": {"text": ["y"], "answer_start": [2]},
        }
        for name in ("arabic", "english", "arabic")
    ]
    address = publish(rows, QUESTIONS)
    names = {"language_column": "id", "language_names": {"ar": "arabic", "fi": "finnish"}}
    found = read(address, "de", "en")
    assert (found.source.language, found.target.language) == ("de", "en")
    assert (found.source.answers, found.answers) == ([(2, 3)] * 3, [["y"]] * 3)
    assert read(address, "ar", **names).target.lines == ["arabic", "arabic"]
    with pytest.raises(
        DataError, match="no row of 'finnish' in the column 'id', which holds arabic, english"
    ):
        read(address, "fi", **names)


def test_translations(publish):
    rows = [{"source_sentence": "eins", "target_sentence": "one"}]
    tatoeba = publish(rows, {"source_sentence": TEXT, "target_sentence": TEXT})
    found = read(tatoeba, "en", "de", first="target_sentence", second="source_sentence")
    assert (found.source.lines, found.target.lines) == (["one"], ["eins"])
    nested = publish(
        [{"translation": {"de": "eins", "en": "one"}}],
        {"translation": {"de": TEXT, "en": TEXT}},
        "two",
    )
    found = read(nested, "en", "de")
    assert (found.source.lines, found.target.lines) == (["one"], ["eins"])
    assert read(nested, "en").lines == ["one"]


def test_plain_text_in_a_named_column(publish):
    address = publish([{"body": "eins zwei"}], {"body": TEXT})
    assert read(address, text="body").lines == ["eins zwei"]
    with pytest.raises(DataError, match=r"nothing the reader knows in the columns body"):
        read(address)
    with pytest.raises(DataError, match="there is no column 'bod'; did you mean 'body'"):
        read(address, text="bod")


def test_numbers_outside_of_names_are_an_error(tmp_path):
    names = pa.table({"premise": ["a"], "hypothesis": ["b"], "label": [2]})
    features = {"info": {"features": {"label": {"names": ["yes"]}}}}
    names = names.replace_schema_metadata({"huggingface": json.dumps(features)})
    pq.write_table(names, tmp_path / "a.parquet")
    with pytest.raises(DataError, match="row 1: 'label' is 2, but there are 1 names: yes"):
        read(tmp_path / "a.parquet")


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (
            '{"tokens": ["a"], "ner_tags": ["X"]}',
            r"a.jsonl: row 1: tag 'X' of 'a', expected O, B-TYPE or I-TYPE",
        ),
        (
            '{"tokens": ["a", "b"], "ner_tags": ["O"]}',
            r"'tokens' and 'ner_tags' are .*; expected equal lengths",
        ),
        ('{"premise": 1, "hypothesis": "b"}', r"row 1: 'premise' is 1, expected a string"),
        (
            '{"premise": "a", "hypothesis": "b", "label": [1]}',
            r"'label' is \[1\], expected a name or a number",
        ),
        (
            '{"context": "a", "question": "b", "answers": {"text": ["a"]}}',
            r"expected 'text' and 'answer_start'",
        ),
        (
            '{"context": "a", "question": "b", "answers": [{"text": 1}]}',
            r"row 1: 'answers': damaged: entry 1, key 'text': input should be a valid string",
        ),
        ('{"translation": "a"}', r"'translation' is 'a', expected texts by language"),
        ('{"text": "a"}\n{"txt": "a"}', r"row 2: there is no 'text'; did you mean 'txt'"),
        ('{"a": ', r"line 1: invalid JSON"),
        (
            '{"text": "a"}\n{"text": "a", "b": 1, "text": "c"}',
            r"a\.jsonl, line 2: .*several values of 'text'$",
        ),
    ],
)
def test_names_the_row_of_wrong_values(tmp_path, row, message):
    (tmp_path / "a.jsonl").write_text(row + "\n")
    with pytest.raises(DataError, match=message):
        read(tmp_path / "a.jsonl")


def test_columns_of_one_name_are_an_error_if_they_are_read(tmp_path):
    table = pa.table([[name] for name in "abcdef"], ["text", "label", "x", "text", "x.1", "x"])
    path = tmp_path / "a.parquet"
    pq.write_table(table, path)
    with pytest.raises(DataError, match="several columns are named 'text'; rename"):
        read(path)
    assert read(path, text="label").lines == ["b"]


ANSWERED = {"question": "b", "answers": [{"text": "a", "answer_start": 0}]}
NULL_ROWS = {
    "lines": ({"text": "a"}, {"text": None}),
    "pairs": ({"premise": "a", "hypothesis": "b"}, {"premise": None, "hypothesis": "b"}),
    "tags": ({"tokens": ["a"], "ner_tags": ["O"]}, {"tokens": None, "ner_tags": None}),
    "questions": ({"context": "a", **ANSWERED}, {"context": None, **ANSWERED}),
    "translation": ({"translation": {"de": "a"}}, {"translation": {"de": None}}),
}


@pytest.mark.parametrize("suffix", ["jsonl", "parquet"])
@pytest.mark.parametrize("kind", NULL_ROWS)
def test_nulls_are_left_out_and_counted(kind, suffix, tmp_path):
    path = tmp_path / f"a.{suffix}"

    def write(*rows):
        if suffix == "jsonl":
            path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        else:
            pq.write_table(pa.Table.from_pylist(list(rows)), path)

    row, null = NULL_ROWS[kind]
    write(row, null, row)
    text = read(path)
    assert len(text) == 2
    counts = {note: count for note, count in text.notes.items() if count}
    assert counts == {"rows without text (null) left out": 1}
    write(null, row)  # also at the beginning, where columns are looked up
    assert len(read(path)) == 1
    if suffix == "jsonl":
        write(null)
        with pytest.raises(DataError, match=r"a.jsonl: there is no row with text in '"):
            read(path)


def test_addresses():
    assert HubAddress.parse("hub:a/b/MLQA.de.en/test@refs/convert/parquet") == HubAddress(
        "a/b", "MLQA.de.en", "test", "refs/convert/parquet"
    )
    assert str(HubAddress.parse("hub:/a/b/c/de/test")) == "hub:/a/b/c/de/test"
    for wrong in ("hub:a/b/c", "hub:a", "a/b/c/d", "hub:a/b/c/", "hub:a/b//test"):
        with pytest.raises(ValueError, match="expected hub:OWNER/NAME/CONFIGURATION/SPLIT"):
            HubAddress.parse(wrong)


def test_rejects_unknown_configurations_and_splits(publish):
    address = publish([{"text": "a"}], {"text": TEXT})
    with pytest.raises(DataError, match=r"'fr' not found. Available: \['de'\]"):
        read(address.replace("/de/", "/fr/"))
    with pytest.raises(DataError, match="there is no split 'tset'; did you mean 'test'"):
        read(address.removesuffix("test") + "tset")


def test_names_the_remedy_without_a_network():
    with pytest.raises(DataError, match="the hub cannot be reached") as caught:
        read("hub:ada/set/de/test@refs/convert/parquet")
    assert "hf download ada/set --repo-type dataset --revision refs/convert/parquet" in str(
        caught.value
    )
    assert "--local-dir DATA_ROOT/ada/set" in str(caught.value)


def test_never_runs_a_loading_script(tmp_path):
    folder = tmp_path / "set"
    folder.mkdir()
    (folder / "set.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\n")
    with pytest.raises(
        DataError, match=r"scripts are no longer supported.*--revision refs/convert/parquet"
    ):
        read(f"hub:{folder}/default/test")
    assert not (tmp_path / "ran").exists()


def test_never_opens_files_other_than_tables(tmp_path):
    import tarfile

    folder = tmp_path / "set"
    folder.mkdir()
    (tmp_path / "0.pickle").write_bytes(b"cos\nsystem\n.")
    with tarfile.open(folder / "test.tar", "w") as packed:
        packed.add(tmp_path / "0.pickle", "0.pickle")
    with pytest.raises(DataError, match="of kind 'webdataset', not tables"):
        read(f"hub:{folder}/default/test")


def test_names_the_extra_of_a_missing_package(monkeypatch):
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(MissingDependencyError, match=r"pip install 'interlace\[hub\]'"):
        read("hub:ada/set/de/test")


FRUIT = ["apple", "pear", "fig"]


def test_parquet_files(tmp_path, monkeypatch):
    monkeypatch.setattr("interlace.readers.CHUNK", 2)
    path = tmp_path / "a.parquet"
    Dataset.from_list([{"body": name, "vector": [0.0] * 9} for name in FRUIT]).to_parquet(path)
    reader = READERS.build({"name": "dataset", "text": "body"})
    lines = [line for chunk in reader.read_chunks([path], ["en"]) for line in chunk.lines]
    assert lines == FRUIT
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(DataError, match=r"a\.parquet: damaged"):
        list(reader.read_chunks([path], ["en"]))


READ = """
import sys
from pathlib import Path
from interlace.core.errors import DataError
from interlace.readers import READERS
result = 0
try:
    for chunk in READERS.build("dataset").read_chunks([Path(sys.argv[1])], ["en"]):
        result += len(chunk)
except DataError as error:
    result = error
peak = Path("/proc/self/status").read_text().partition("VmHWM:")[2].split()[0]  # without that of the parent process
print(int(peak) // 1024, result)
"""


@pytest.mark.parametrize("length", [1_000_000, 12_000_000])
def test_a_text_that_is_stored_once_for_many_rows_takes_bounded_memory(tmp_path, length):
    rows = 500
    texts = pa.DictionaryArray.from_arrays(pa.array([0] * rows, pa.int32()), ["a" * length])
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"text": texts}), path)
    memory, _, result = run_code(READ, path).stdout.strip().partition(" ")
    assert int(memory) < 700, memory  # MB, of which the interpreter and its packages have 300
    if length > MAX_LINE:
        assert "a.parquet: a row of more than 8 MB" in result
    else:
        assert int(result) == rows


def test_arrow_files_are_not_read(tmp_path):
    table = pa.table({"text": ["a"]})
    path = tmp_path / "set" / "train.arrow"
    path.parent.mkdir()
    with pa.ipc.new_stream(str(path), table.schema) as writer:
        writer.write_table(table)
    with pytest.raises(DataError, match="of kind 'arrow', not tables"):
        read(f"hub:{tmp_path}/set/default/train")
    with pytest.raises(DataError, match=r"train\.arrow: .*write it as Parquet"):
        read(path)


@pytest.mark.parametrize(
    "metadata", ["{", '{"info": null}', '{"info": {"features": {"text": {"names": 3}}}}', "[]"]
)
def test_damaged_metadata_of_a_parquet_file(tmp_path, metadata):
    table = pa.table({"text": ["one"]}).replace_schema_metadata({"huggingface": metadata})
    pq.write_table(table, tmp_path / "a.parquet")
    with pytest.raises(DataError, match=r"a\.parquet: damaged metadata"):
        read(tmp_path / "a.parquet")


def test_a_data_set_is_prepared_with_a_report_and_without_bars_of_its_library(tmp_path, capfd):
    (tmp_path / "set").mkdir()
    (tmp_path / "set" / "test.jsonl").write_text('{"text": "a"}\n')
    name = f"hub:{tmp_path}/set/default/test"
    reports = []
    with reporting(lambda *report: reports.append(report)):
        assert read(name).lines == ["a"]
    assert (f"preparing {name}", 0, 0) in reports
    assert capfd.readouterr().err == ""
    assert not are_progress_bars_disabled()
