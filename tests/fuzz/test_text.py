"""Hard text: combining marks, bidirectional and invisible characters, emoji, unassigned characters, long lines."""

import unicodedata

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

import interlace as il
from fuzzing import invoke
from interlace.core.errors import DataError
from interlace.data.encoding import Encoder
from interlace.text import Text
from interlace.text.lines import read_lines, write_lines
from interlace.text.normalization import Normalization
from little_translators import little_vocab

PIECES = [
    # marks
    *(
        "e\u0301",
        "\u0301" * 40,
        "क्षि",
        "ที่",
        "각",
        "\u1100\u1161",
        "ﬁ",
        "ẞ",
        "İ",
        "ǆ",
        "\u0130\u0307",
        "Ω",
    ),
    *("\u202eabc\u202c", "\u2066א1\u2069", "عربي", "\u200f", "\u061c"),  # bidirectional
    *("\u200b", "\u200d", "\ufeff", "\u2060", "\u00ad", "\u180e", "\ufe0f"),  # invisible
    *("👩‍👩‍👧‍👦", "👍🏽", "🇩🇪🇫", "1️⃣", "🏴\U000e0067\U000e007f"),  # emoji
    # unassigned and private
    *(
        "\u0378",
        "\ufdd0",
        "\uffff",
        "\U0010ffff",
        "\ue000",
        "\U000e0fff",
    ),
    *("\x01", "\x7f", "\x85", "\u2028", "\r", "\t", "\u3000", "\u00a0", "a cat"),
    *("the", "中文", "ガス", "<s>", "{0}", "<b>&"),
]
LINE = st.lists(
    st.sampled_from(PIECES)
    | st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\n"))
)
LINES = st.lists(
    st.tuples(LINE, st.sampled_from(["", " "])).map(lambda drawn: drawn[1].join(drawn[0])),
    min_size=3,
)
few = settings(
    max_examples=10,
    deadline=None,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)


@given(LINES)
@settings(deadline=None)
def test_normalization_words_and_subwords_survive_all_characters(lines):
    encoder = Encoder(little_vocab().tokenizer)
    for form in ("NFC", "NFKC", "none"):
        lines = Normalization(
            form=form, lower_case=True, remove_accents=True, romanian="strip"
        ).lines(lines, "ro")
        assert form == "none" or all(unicodedata.is_normalized(form, line) for line in lines)
        for name in ("unicode", "whitespace", "moses", "th", "zh"):
            text = Text.of(lines, "", name)
            found = encoder.encode_text(text)
            assert len(found.ids) == len(lines)
            for row, words in enumerate(text.words.lengths):
                assert found.words[row].max(initial=-1) < words


@given(LINES)
@few
def test_commands_survive_all_characters(tmp_path, lines):
    write_lines(tmp_path / "a.en", [*lines, "a cat sleeps", "the cat"])
    write_lines(tmp_path / "a.xx", [*reversed(lines), "a cat sleeps", "the cat"])
    pair, out = [f"{tmp_path}/a.en", f"{tmp_path}/a.xx"], f"{tmp_path}/out"
    for command in (
        ["align", *pair, "-o", f"{out}.links"],
        ["lexicon", *pair, f"{out}.links", "-o", f"{out}.tsv"],
        ["code-switch", *pair, f"{out}.links", "--set", "copies=1", "-o", f"{out}.mixed"],
        ["derive", pair[0], "--transformations", "permute", "-o", f"{out}.derived"],
        ["check", *pair],
        ["vocab", *pair, "--size", "400", "-o", f"{out}.vocab"],
    ):
        done = invoke(command, 120)
        assert done.code == 0 or (command[0] == "check" and done.code == 2), (
            command,
            done.text,
            done.trace,
        )
    assert len(list(read_lines(f"{out}.links"))) == len(lines) + 2
    plain, permuted = (list(read_lines(path)) for path in (pair[0], f"{out}.derived/a.en"))
    for before, after in zip(plain, permuted, strict=True):
        # blanks between words are not kept
        assert sorted("".join(after.split())) == sorted("".join(before.split()))


@pytest.mark.parametrize("piece", ["ab cd ", "x", "e\u0301", "\u200b", "👩‍👩‍👧‍👦", "中"])
def test_a_long_line_takes_bounded_time(tmp_path, piece):
    long = piece * (1_000_000 // len(piece.encode()))  # 10 MB take ten times as long
    write_lines(
        tmp_path / "a.en",
        ["a cat", long[: len(long) // 4 if piece == "中" else None], "the cat"],
    )
    write_lines(tmp_path / "a.de", ["eine Katze", piece * 100, "die Katze"])
    for command in (
        ["align", f"{tmp_path}/a.en", f"{tmp_path}/a.de", "-o", f"{tmp_path}/links"],
        [
            "derive",
            f"{tmp_path}/a.en",
            "--transformations",
            "invert",
            "-o",
            f"{tmp_path}/derived",
        ],
        ["check", f"{tmp_path}/a.en"],
        ["vocab", f"{tmp_path}/a.en", "--size", "300", "-o", f"{tmp_path}/vocab"],
    ):
        done = invoke(command, 60)
        assert done.code == 0, (command, done.text, done.trace)
    assert len(Encoder(little_vocab().tokenizer).encode([long]).ids) == 1


@pytest.mark.parametrize("line", ["a \ud800", "\udcff"])
def test_lone_surrogates_are_named(line):
    encoder = Encoder(little_vocab().tokenizer)
    for read in (
        lambda: il.Pairs.from_lists(["fine", line], ["a", "b"]),
        lambda: encoder.encode(["fine", line]),
    ):
        with pytest.raises(
            DataError, match=r"line 2 contains '\\ud.* which is not a character"
        ):
            read()
