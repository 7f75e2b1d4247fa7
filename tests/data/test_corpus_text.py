"""Corpora built from files, with and without filters."""

import pytest

from interlace.core import registry
from interlace.core.errors import DataError
from interlace.data.corpus import Corpus, ParallelCorpus
from interlace.data.corpus_text import CorpusText, build_corpus
from interlace.data.filters import FILTERS, build_filters
from interlace.readers import READERS
from interlace.text.lines import write_lines
from interlace.text.normalization import Normalization
from interlace.text.word_tokenizers import WORD_TOKENIZERS

WHITESPACE = WORD_TOKENIZERS.build("whitespace")
RULES = {"length": {"max_words": 3}, "duplicates": {}}
NOTES = {"empty": 1, "dropped by length": 1, "dropped by duplicates": 1}
SIDES = {
    "en": ["the doctor", "", "he reads", "the doctor", "one two three four"],
    "de": ["der Arzt", "leer", "er liest", "der Arzt", "eins"],
}


@pytest.fixture
def build(tmp_path, vocab):
    """Builds a corpus of lines by file name; the names are the languages by default."""

    def make(files, languages=None, reader="lines", rules=None, normalization=None):
        for name, lines in files.items():
            write_lines(tmp_path / name, lines)
        paths = [tmp_path / name for name in files]
        text = CorpusText(
            languages=tuple(languages or files),
            files=tuple(paths),
            reader=READERS.build(reader),
            word_tokenizer=WHITESPACE,
            normalization=normalization or Normalization(),
            filters=tuple(build_filters(rules or {})),
        )
        return build_corpus(text, vocab, tmp_path / "corpus")

    return make


def test_stores_lines_and_skips_empty_ones(build, vocab):
    corpus = build({"en": ["the old doctor", "", "he  works", " \u3000"]})
    assert isinstance(corpus, Corpus)
    assert corpus.take([0, 1]) == vocab.encode(["the old doctor", "he  works"], language="en")
    assert (len(corpus), corpus.meta["notes"]) == (2, {"empty": 2})
    corpus = build({"en": ["one", "", "three"], "de": ["eins", "zwei", "drei"]})
    assert isinstance(corpus, ParallelCorpus)
    assert (len(corpus), corpus.meta["notes"]) == (2, {"empty": 1})
    pairs = corpus.take([0, 1])
    assert pairs.source.ids == vocab.encode(["one", "three"]).ids
    assert pairs.target.ids == vocab.encode(["eins", "drei"]).ids


def test_result_does_not_depend_on_chunks(build, monkeypatch, lines):
    rows = [line for some in lines.values() for line in some]
    whole = build({"en": rows}).take(range(len(rows)))
    monkeypatch.setattr("interlace.readers.CHUNK", 3)
    parts = build({"en": rows}).take(range(len(rows)))
    assert (whole.ids, whole.words) == (parts.ids, parts.words)


@pytest.mark.parametrize(
    ("files", "options", "message"),
    [
        (
            {"a": ["1", "2"], "b": ["1"]},
            {"languages": ["en", "de"]},
            r"has 2 lines and .* has 1",
        ),
        ({"a": ["", ""]}, {}, "nothing to write: 2 empty"),
        (
            {"a": ["gold_label\tsentence1\tsentence2", "neutral\ta\tb"]},
            {"reader": "nli"},
            "text in 2 languages, expected 1",
        ),
        (
            {"en": SIDES["en"]},
            {"rules": {"length": {"min_words": 9}}},
            "1 empty, 4 dropped by length",
        ),
    ],
)
def test_errors_leave_nothing_behind(build, tmp_path, files, options, message):
    with pytest.raises(DataError, match=message):
        build(files, **options)
    assert {path.name for path in tmp_path.iterdir()} == set(files)


@pytest.mark.parametrize("chunk", [2, 100])
@pytest.mark.parametrize("languages", [["en"], ["en", "de"]])
def test_counts_what_filters_drop(build, vocab, languages, chunk, monkeypatch):
    monkeypatch.setattr("interlace.readers.CHUNK", chunk)
    corpus = build({language: SIDES[language] for language in languages}, rules=RULES)
    assert corpus.meta["notes"] == NOTES
    rows = corpus.take([0, 1])
    source = rows if len(languages) == 1 else rows.source
    assert source.ids == vocab.encode(["the doctor", "he reads"]).ids


def test_filters_see_normalized_lines(build):
    normalization = Normalization(lower_case=True)
    corpus = build(
        {"en": ["A b", "a B"]}, rules={"duplicates": {}}, normalization=normalization
    )
    assert len(corpus) == 1


PLUGINS = {
    "reader": "from interlace.readers.lines import PlainLines\nclass Own(PlainLines): ...\n",
    "filter": "from interlace.data.filters.length import Length\nclass Own(Length): ...\n",
    "word tokenizer": "from interlace.text.word_tokenizers.whitespace import Whitespace\n"
    "class Own(Whitespace): ...\n",
}


@pytest.mark.parametrize("kind", PLUGINS)
def test_an_edited_plugin_gives_another_key(kind, tmp_path, monkeypatch):
    """Else a corpus of the old code would be taken from the cache."""
    (tmp_path / "en").write_text("one\n")
    registries = {"readers": READERS, "filters": FILTERS, "word_tokenizers": WORD_TOKENIZERS}
    keys = []
    for source in (PLUGINS[kind], PLUGINS[kind] + "# edited\n"):
        monkeypatch.setattr(registry, "_PLUGINS", {})
        (tmp_path / "own.py").write_text(source)
        registry.register_plugin(tmp_path / "own.py", registries)
        text = CorpusText(
            languages=("en",),
            files=(tmp_path / "en",),
            reader=READERS.build("own" if kind == "reader" else "lines"),
            word_tokenizer=WORD_TOKENIZERS.build("own")
            if kind == "word tokenizer"
            else WHITESPACE,
            filters=tuple(build_filters({"own": {}} if kind == "filter" else {})),
        )
        keys.append(text.key)
    assert keys[0] != keys[1]
