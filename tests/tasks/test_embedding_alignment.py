import pytest
import torch

from interlace.core.errors import DataError
from interlace.tasks.embedding_alignment import EmbeddingAlignment
from interlace.text.lines import write_lines

PAIRS = [("the", "der"), ("doctor", "arzt"), ("reads", "liest"), ("letters", "briefe")]


@pytest.fixture
def dictionary(tmp_path):
    """Writes a dictionary and returns the folder it stands in."""

    def write(*pairs):
        path = tmp_path / "dict/en-de.txt"
        path.parent.mkdir(exist_ok=True)
        path.write_text("".join(f"{source}\t{target}\n" for source, target in pairs))
        return tmp_path

    return write


def aligned(vocab, backbone, pairs):
    """Sets each target word's row to its source word's, all source rows at right angles; others are far from all."""
    with torch.no_grad():
        backbone.input_embeddings[:] = -1.0
        for number, (source, target) in enumerate(pairs):
            row = torch.eye(backbone.width)[number]
            for word in (source, target):
                ids = vocab.encode_words([word])[0]
                assert len(ids) == 1
                backbone.input_embeddings[int(ids[0])] = row
    return backbone


def measured(root, vocab, backbone, run=None, **settings):
    task = EmbeddingAlignment(**settings).bind(run)
    return task.measure(backbone, vocab, task.examples("test", "de", vocab, root))


def near_the_first(vocab, backbone, rival):
    """Puts a subword's row onto the row that is asked first, whose translation moves off a little."""
    [rival] = [int(i) for i in vocab.regular_ids if vocab.tokens([i]) == [rival]]
    with torch.no_grad():
        the, der = (int(vocab.encode_words([word])[0][0]) for word in PAIRS[0])
        backbone.input_embeddings[der] += 0.3
        backbone.input_embeddings[rival] = backbone.input_embeddings[the]


@pytest.mark.parametrize(
    ("text", "expected"), [("der arzt liest max", 75), ("der arzt liest", 100)]
)
def test_candidates_are_subwords_of_the_target_text(dictionary, vocab, model, text, expected):
    backbone, root = aligned(vocab, model(), PAIRS), dictionary(*PAIRS)
    near_the_first(vocab, backbone, "x")
    write_lines(root / "text/train.de.txt", [text])
    write_lines(
        root / "bank.de.conllu", [f"1\t{text.split()[-1]}\t_\tX\tX\t_\t0\troot\t_\t_", ""]
    )
    assert measured(root, vocab, backbone)["p@1"] == 100
    assert measured(root, vocab, backbone, candidates="text").metrics == {
        "p@1": expected,
        "coverage": 100,
    }
    files = ["text/train.{language}.txt", "bank.{language}.conllu"]
    assert measured(root, vocab, backbone, candidates="text", text=files)["p@1"] == expected


def test_identically_spelled_words_are_left_out_and_the_own_row_of_a_word_is_no_candidate(
    dictionary, vocab, model
):
    backbone = aligned(vocab, model(), PAIRS)
    root = dictionary(*PAIRS[:3], ("letters", "letters"))
    assert measured(root, vocab, backbone).metrics == {"p@1": 100, "coverage": 75}
    backbone = aligned(vocab, model(), PAIRS)
    with torch.no_grad():
        der, arzt = (int(vocab.encode_words([word])[0][0]) for word in ("der", "arzt"))
        backbone.input_embeddings[arzt] = backbone.input_embeddings[der] + 0.1
    # the nearest of all would be `der` itself
    root = dictionary(("the", "der"), ("der", "arzt"), ("reads", "liest"))
    assert measured(root, vocab, backbone)["p@1"] == 100


def test_rejects_a_dictionary_without_usable_entries(dictionary, vocab, model):
    with pytest.raises(
        DataError, match=r"none of the 1 entries .* a word has several subwords"
    ):
        measured(dictionary(("quixotic", "zebra")), vocab, model())


def test_words_with_an_embedding_row_of_a_training_entry_are_not_held_out(
    dictionary, vocab, model, caplog
):
    """`readsx` consists of two subwords, of which one is that of `reads`; their words differ."""
    assert vocab.encode_words(["readsx"])[0][0] == vocab.encode_words(["reads"])[0][0]
    folder = dictionary(*PAIRS[:2], ("reads", "liest"))
    write_lines(
        folder / "run/dictionaries/align_mlm.en-de.tsv",
        ["en\tde\tpart\tstatus", "readsx\tbriefe\ttrain\tused"],
    )
    backbone = aligned(vocab, model(), PAIRS[:3])
    with caplog.at_level("INFO", "interlace"):
        found = measured(folder, vocab, backbone, run=folder / "run")
    assert found["held out"] == pytest.approx(200 / 3)
    assert found["p@1"] == 100
    assert found.outcomes.weight.tolist() == [1, 1, 0]
    assert "2 of 3 words are held out" in caplog.text


def test_adds_language_embeddings_if_both_languages_have_them(dictionary, vocab, model):
    root, backbone = dictionary(*PAIRS), aligned(vocab, model("en", "de"), PAIRS)
    with torch.no_grad():
        backbone.language_embeddings[:] = 0.0
        backbone.language_embeddings[backbone.traits.languages["en"]] = (
            10 * torch.eye(backbone.width)[0]
        )
    assert measured(root, vocab, backbone)["p@1"] == 25  # all English words lie by the first
