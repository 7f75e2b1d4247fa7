"""The contract of transformations, for every entry of the registry."""

from collections import Counter
from dataclasses import replace
from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from interlace.core.ragged import Ragged
from interlace.derived import TRANSFORMATIONS
from interlace.text import Text

WORDS = st.sampled_from(
    [
        *"abc.!,",
        "The",
        "dog",
        "été",
        "中",
        "医生",
        "Ελλάδα",
        "x1",
        "...",
        "(",
        "ა",
        "ᐁ",
        "𐐀",
        "don't",
        "12",
        "𐒠",
        "𑗎",
    ]
)
GAPS = st.sampled_from([" ", " ", " ", "", "  ", "\u3000"])
TAGS = st.sampled_from(["NOUN", "VERB", "X"])
KINDS = st.sampled_from(["O", "O", "B-PER", "I-PER", "B-LOC"])


@st.composite
def texts(draw):
    """Lines made of words and gaps, with tags, names, labels and trees."""
    lines, spans, pos, names, heads = [], [], [], [], []
    for _ in range(draw(st.integers(0, 4))):
        words = draw(st.lists(WORDS, max_size=9))
        line = draw(st.sampled_from(["", " "]))
        places = []
        for word in words:
            line += draw(GAPS) if places else ""
            places.append((len(line), len(line) + len(word)))
            line += word
        line += draw(st.sampled_from(["", " "]))
        n = len(words)
        lines.append(line)
        spans.append(places)
        pos.append([draw(TAGS) for _ in words])
        names.append(iob2([draw(KINDS) for _ in words]))
        heads.append([draw(st.integers(-1, i - 1)) for i in range(n)])
    count = len(lines)
    return Text(
        "xx", lines, Ragged.of(spans, width=2), "unicode", labels=[str(i) for i in range(count)],
        tags={"pos": pos, "names": names, "deprel": [["dep"] * len(row) for row in pos]},
        heads=Ragged.of(heads),
    )  # fmt: skip


def iob2(tags):
    """No `I-` but behind a tag of its type."""
    found = []
    for tag in tags:
        before = found[-1] if found else "O"
        found.append("B-PER" if tag == "I-PER" and before[2:] != "PER" else tag)
    return found


TREEBANK = """1\tA\ta\tX\t_\t_\t2\tdep\t_\t_
2\tb\tb\tNOUN\t_\t_\t4\tdep\t_\t_
3\tc\tc\tVERB\t_\t_\t4\tdep\t_\t_
4\td\td\tVERB\t_\t_\t5\tdep\t_\t_
5\te\te\tVERB\t_\t_\t0\troot\t_\t_

"""


# Orders of other programs are found by the trees of the text itself; `tests/derived/test_trees.py` has its own.
ANY_TEXT = [name for name in TRANSFORMATIONS.names() if name != "galactic"]


@pytest.fixture(scope="module", params=ANY_TEXT)
def change(request, tmp_path_factory):
    name = request.param
    if name == "syntax":
        path = tmp_path_factory.mktemp("trees") / "treebank.conllu"
        path.write_text(TREEBANK, encoding="utf-8")
        return TRANSFORMATIONS.build({"name": name, "like": [path]})
    return TRANSFORMATIONS.build(name)


@given(text=texts())
@settings(max_examples=25)
def test_keeps_labels_words_and_links(change, text):
    must_keep(text, change.apply(text, 5))


ORDERS = [
    {"name": name, "sentence_split": split, "keep_final_punct": keep}
    for name, split, keep in product(
        ("invert", "permute"), ("marks", "period", "line"), (True, False)
    )
]
SPELLINGS = [
    {"name": "transliterate", "keep_punctuation": marks, "keep_digits": digits}
    for marks, digits in product((True, False), (True, False))
]
SHARES = [{"name": "overlap", "share": share} for share in (0.0, 0.5, 1.0)]


@pytest.mark.parametrize(
    "fields",
    [*ORDERS, *SPELLINGS, *SHARES],
    ids=lambda fields: ",".join(map(str, fields.values())),
)
@given(text=texts())
@settings(max_examples=12)
def test_all_settings_keep_labels(fields, text):
    one = TRANSFORMATIONS.build(fields)
    derived = one.apply(text, 5)
    must_keep(text, derived)
    if fields["name"] in {"invert", "permute"}:
        for row in range(len(text)):
            assert Counter(derived.text.tokens(row)) == Counter(text.tokens(row))


def must_keep(text, derived):
    """All labels go with their words, and what was between words still is."""
    new = derived.text
    assert (new.language, new.word_tokenizer, new.labels, len(new)) == (
        text.language,
        text.word_tokenizer,
        text.labels,
        len(text),
    )
    assert new.words.values.dtype == "int32"
    assert new.words.lengths.tolist() == text.words.lengths.tolist()
    for line in range(len(text)):
        count = len(text.words[line])
        links = derived.links[line].tolist()
        assert [i for i, _ in links] == list(range(count))  # a bijection, sorted
        assert sorted(j for _, j in links) == list(range(count))
        for i, j in links:
            assert new.tags["pos"][line][j] == text.tags["pos"][line][i]
            old_head, new_head = text.heads[line][i], new.heads[line][j]
            assert new_head == (-1 if old_head < 0 else dict(links)[old_head])
        before, after = (outside(t, line) for t in (text, new))
        assert (before[0], before[-1]) == (after[0], after[-1])
        old, own = (Counter(gaps[1:-1]) for gaps in (before, after))
        assert set(old - own) <= {""}
        assert set(own - old) <= {" "}
        before = 0
        for start, end in new.words[line].tolist():
            assert before <= start < end <= len(new.lines[line])
            before = end


def outside(text, line):
    """What stands before, between and behind the words of a line."""
    bounds = [0, *text.words[line].reshape(-1).tolist(), len(text.lines[line])]
    return [text.lines[line][a:b] for a, b in zip(bounds[::2], bounds[1::2], strict=True)]


@given(text=texts())
@settings(max_examples=25)
def test_names_stay_valid_iob2(change, text):
    derived = change.apply(text, 5)
    torn = sum(count for what, count in derived.text.notes.items() if "names" in what)
    for line, (old, new) in enumerate(
        zip(text.tags["names"], derived.text.tags["names"], strict=True)
    ):
        assert iob2(new) == new
        assert [tag[2:] for tag in old] == [new[j][2:] for _, j in derived.links[line].tolist()]
        to = dict(derived.links[line].tolist())
        numbers = np.cumsum([tag[0] == "B" for tag in old])
        for name in set(numbers.tolist()) - {0}:
            places = sorted(to[i] for i in np.flatnonzero(numbers == name) if old[i] != "O")
            parts = 1 + sum(b > a + 1 for a, b in pairwise(places))
            assert sum(new[j][0] == "B" for j in places) == parts
            torn -= parts > 1
    assert torn == 0


@given(text=texts(), data=st.data())
@settings(max_examples=15)
def test_result_does_not_depend_on_line_order(change, text, data):
    order = data.draw(st.permutations(range(len(text))))
    whole = change.apply(text, 5)
    moved = change.apply(at(text, order), 5)
    assert moved.text.lines == [whole.text.lines[line] for line in order]
    assert moved.text.tags == at(whole.text, order).tags
    assert moved.links == whole.links.take(np.array(order, np.int64))


def at(text, order):
    """Some lines of a text with all that belongs to them."""
    pick = lambda rows: [rows[line] for line in order]  # noqa: E731
    rows = np.array(order, np.int64)
    return replace(
        text, lines=pick(text.lines), words=text.words.take(rows), labels=pick(text.labels),
        tags={kind: pick(tags) for kind, tags in text.tags.items()},
        heads=text.heads.take(rows),
    )  # fmt: skip
