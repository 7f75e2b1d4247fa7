"""`interlace align`: links for every line, where they go, what is said of them, and what it refuses."""

import json
from functools import partial

import numpy as np
import pytest

from command_line import command
from interlace.api.alignment import ParallelText as Pairs
from interlace.core.errors import DataError, SettingsError
from interlace.text.lines import read_lines, write_lines

run = partial(command, "align")

WORDS = [f"w{number}" for number in range(12)]
ODD = ["", "alone", "", "||| a", "a\x01b c", "same same same"]
ODD_TARGET = ["", "", "allein", "||| ä", "ä\x01b c", "gleich gleich gleich"]

TMX = """
<tmx><body><tu>
<tuv lang="en"><seg>the house</seg></tuv><tuv lang="de"><seg>das Haus</seg></tuv>
</tu></body></tmx>
""".lstrip()


def shuffled(lines, seed):
    """Lines of words, and the same in capitals with the first two exchanged; the links between them."""
    rng = np.random.default_rng(seed)
    source = [rng.permutation(WORDS)[: rng.integers(3, 7)].tolist() for _ in range(lines)]
    target = [[word.upper() + "x" for word in (line[1], line[0], *line[2:])] for line in source]
    links = ["0-1 1-0 " + " ".join(f"{i}-{i}" for i in range(2, len(line))) for line in source]
    return [" ".join(line) for line in source], [" ".join(line) for line in target], links


@pytest.fixture
def text(tmp_path):
    """A folder with `a.en`, `a.de` and `a.gold`, whose words an aligner cannot but find."""
    for name, lines in zip(("a.en", "a.de", "a.gold"), shuffled(200, 1), strict=True):
        write_lines(tmp_path / name, lines)
    return tmp_path


def sides(folder):
    return folder / "a.en", folder / "a.de"


def test_writes_one_line_per_input_line(text):
    for name, odd in zip(("a.en", "a.de"), (ODD, ODD_TARGET), strict=True):
        write_lines(text / name, [*odd, *read_lines(text / name)])
    done = run(*sides(text), "--confidence", text / "grades")
    links = done.stdout.split("\n")[:-1]
    grades = list(read_lines(text / "grades"))
    assert len(links) == 206
    assert links[:3] == grades[:3] == ["", "", ""]
    assert [len(line.split()) for line in links] == [len(line.split()) for line in grades]
    assert all(0 < float(grade) <= 1 for line in grades for grade in line.split())


def test_saved_model_aligns_new_text_and_warns_about_other_languages_and_tokenizers(
    text, caplog
):
    source, target, gold = shuffled(50, 2)
    new = (text / "new.en", text / "new.de")
    for path, lines in zip((*new, text / "new.gold"), (source, target, gold), strict=True):
        write_lines(path, lines)
    run(*sides(text), "--aligner", "diagonal", "--save-model", text / "model")
    together = run(*new, "--load-model", text / "model", "--gold", text / "new.gold")
    for path, lines in zip(new, (source, target), strict=True):
        write_lines(path, lines[:1])
    alone = run(*new, "--load-model", text / "model").stdout
    assert together.stdout.splitlines(keepends=True)[:1] == [alone]
    assert float(together.stderr.split("AER ")[1].split("%")[0]) < 10
    run(*sides(text), "--load-model", text / "model", "--word-tokenizer", "unicode")
    assert "this text was tokenized by 'unicode'" in caplog.text
    run(*reversed(sides(text)), "--load-model", text / "model")
    assert "trained on en-de, but this text is de-en" in caplog.text


def test_untokenized_text_is_tokenized_and_the_record_is_picked_up(text, caplog):
    caplog.set_level("INFO")
    for path in sides(text):
        write_lines(path, [f"{line}." for line in read_lines(path)])
    links = text / "links"
    run(*sides(text), "--aligner", "diagonal", "-o", links)
    assert "a.de: words by --word-tokenizer unicode" in caplog.text
    record = json.loads((text / "links.json").read_text())
    assert (record["word_tokenizer"], record["languages"]) == ("unicode", ["en", "de"])
    lexicon = partial(command, "lexicon", *sides(text))
    entries = lexicon(links, "--words").stdout
    assert entries
    assert "." not in entries
    for standard_input in ("-", "/dev/stdin"):
        done = lexicon(standard_input, "--words", text=links.read_bytes())
        assert done.stdout == entries
    with pytest.raises(SettingsError, match="was made with 'unicode'"):
        lexicon(links, "--word-tokenizer", "whitespace")
    (text / "links.json").write_text("[]")
    with pytest.raises(DataError, match=r"links\.json: damaged"):
        lexicon(links)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("--aligner diagnal", "did you mean 'diagonal'"),
        ("--languages e.n,de", "such as 'en' or 'zh_tw'; .* found 'e.n'"),
        ("--languages en", "expected source and target"),
        ("--aligner GIZA++", "did you mean 'gibbs'"),
        ("--set symmetrization=gdfa", "grow-diag-final"),
        ("--set thresold=1", "did you mean 'threshold'"),
        ("--set threshold=7", "less than or equal to 1"),
        ("--set views=[1,x]", "expected a list, such as"),
        ("--word-tokenizer unicod", "did you mean 'unicode'"),
        (
            "--reader gold --word-tokenizer unicode",
            "--reader gold: unknown key 'word_tokenizer'",
        ),
        ("--aligner similarity --save-model m", "has no model to save"),
        ("--load-model m --aligner gibbs --set seed=1", "leave out --aligner, --set"),
    ],
)
def test_rejects_invalid_options(text, monkeypatch, options, said):
    monkeypatch.chdir(text)
    with pytest.raises(SettingsError, match=said):
        run("a.en", "a.de", *options.split(" "))


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("a.en b.de", "did you mean 'a.de'"),
        (". a.de", "a folder"),
        ("a.en short.de", "200 lines and short.de has 1;"),
        ("a.en latin.de", "latin.de, line 2: not valid UTF-8"),
        ("a.en empty.de", "the file is empty"),
        ("a.en a.de --gold short.gold", "alignments of 1 pairs, but the text has 200"),
        ("a.en a.de --gold a.de", "no known alignment format"),
        ("a.en a.de --load-model .", "aligner.json: no such saved aligner"),
        ("a.en a.de --save-model .", "would replace the input|would write the same file"),
        ("a.en a.de --extra a.en none", "none: no such file"),
        ("a.tsv --reader iob", "takes files of 1 languages|no pairs"),
        ("/dev/null a.de", "a pipe or a device"),
        ("blank.en blank.de", "nothing to align"),
        ("- a.de", "standard input, line 2: not valid UTF-8"),
        ("a.tmx", "in source and target; .* --languages en,de; it has: de, en"),
    ],
)
def test_rejects_invalid_files_and_writes_nothing(text, monkeypatch, arguments, said):
    monkeypatch.chdir(text)
    write_lines("short.de", ["W1x"])
    write_lines("a.tsv", ["w1\tO"])
    write_lines("short.gold", ["0-0"])
    (text / "a.tmx").write_text(TMX)
    (text / "latin.de").write_bytes(b"ja\ncaf\xe9\n" + b"ja\n" * 198)
    (text / "empty.de").write_bytes(b"")
    for path in ("blank.en", "blank.de"):
        write_lines(path, [" ", ""])
    before = sorted(text.iterdir())
    with pytest.raises((DataError, SettingsError), match=said):
        run(
            *arguments.split(" "),
            "-o",
            "links",
            "--confidence",
            "grades",
            text=b"ja\ncaf\xe9\n",
        )
    assert sorted(text.iterdir()) == before


@pytest.mark.parametrize("form", ["<s snum=000{number}> {text} </s>", "{number}\t{text}"])
def test_numbered_sentences_of_a_gold_set_need_its_reader(tmp_path, monkeypatch, form):
    """Read as plain text, the numbers would be words: the error rate of WPT's test set is then 86, not 58."""
    monkeypatch.chdir(tmp_path)
    for name, text in (("test.en", "the house"), ("test.de", "das haus")):
        lines = [form.format(number=number, text=text) for number in range(1, 9)]
        (tmp_path / name).write_text("\n".join(lines) + "\n")
    with pytest.raises(DataError, match=r"test\.en: its sentences are numbered.*--reader gold"):
        run("test.en", "test.de")
    with pytest.raises(DataError, match=r"test\.en: its sentences are numbered.*'gold'"):
        Pairs.from_files("test.en", "test.de")
    done = run("test.en", "test.de", "--reader", "gold")
    assert done.stdout.splitlines()[0] == "0-0 1-1"
    assert run("test.en", "test.de", "--reader", "lines").exit_code == 0


def test_a_translation_memory_is_read_by_all_commands_of_parallel_text(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.tmx").write_text(TMX)
    assert run("a.tmx", "--languages", "en,de", "-o", "links").exit_code == 0
    entries = {"the\tdas\t1", "house\tHaus\t1"}
    # with links, their record names the languages
    for options in (["links"], ["--reader", "tmx", "--languages", "en,de"]):
        assert {*command("lexicon", "a.tmx", *options).stdout.splitlines()} == entries
