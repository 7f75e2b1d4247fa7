"""Special subwords that ask for a language: after all others, read as one, and opened again."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from transformers import AutoTokenizer

from interlace.core.errors import DataError
from interlace.data.extension import extend_vocab
from interlace.data.vocab import Vocab
from little_checkpoints import KINDS, OTHER

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="module", params=list(KINDS))
def plain(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Vocab:
    folder = tmp_path_factory.mktemp("tokenizer")
    KINDS[request.param][0]().save_pretrained(folder)
    return Vocab.load(folder)


def test_each_language_gets_an_id_after_all_others(plain: Vocab) -> None:
    vocab = plain.with_target_languages(["en", "zh_cn", "en"])
    assert vocab.targets == {"en": plain.size, "zh_cn": plain.size + 1}
    assert vocab.target("zh_cn") == plain.size + 1
    assert vocab.size == plain.size + 2
    assert vocab.fingerprint != plain.fingerprint
    assert plain.targets == {}


def test_text_has_the_ids_it_had(plain: Vocab) -> None:
    vocab, lines = plain.with_target_languages(["en", "de"]), ["the doctor reads", "x 17"]
    assert vocab.encode(lines).ids.flat.tolist() == plain.encode(lines).ids.flat.tolist()


def test_no_objective_predicts_or_draws_them_and_no_text_shows_them(plain: Vocab) -> None:
    vocab = plain.with_target_languages(["en"])
    assert vocab.target("en") in vocab.special_ids
    assert vocab.target("en") not in vocab.regular_ids
    assert vocab.decode([vocab.target("en"), *vocab.encode(["the"]).ids[0]]).strip() == "the"


def test_asking_again_changes_nothing_and_new_languages_come_after(plain: Vocab) -> None:
    vocab = plain.with_target_languages(["en", "de"])
    assert vocab.with_target_languages(["de", "en"]) is vocab
    more = vocab.with_target_languages(["de", "fr"])
    assert more.targets == {**vocab.targets, "fr": plain.size + 2}


def test_a_saved_vocabulary_opens_with_them_also_in_transformers(plain: Vocab, tmp_path: Path) -> None:
    vocab = plain.with_target_languages(["en", "de"])
    vocab.save(tmp_path / "vocab")
    again = Vocab.load(tmp_path / "vocab")
    assert (again.targets, again.fingerprint) == (vocab.targets, vocab.fingerprint)
    theirs = AutoTokenizer.from_pretrained(tmp_path / "vocab", trust_remote_code=False)
    assert theirs.convert_tokens_to_ids("<2de>") == vocab.target("de")
    assert theirs.decode([vocab.target("de")], skip_special_tokens=True) == ""


def test_a_checkpoints_tables_learn_of_them(plain: Vocab) -> None:
    extension = plain.with_target_languages(["en", "de"]).extension
    assert extension is not None
    assert (extension.base, extension.size) == (plain.size, plain.size + 2)
    assert extension.pieces.lengths.tolist() == [0, 0]


def test_they_come_after_subwords_that_extend_a_vocabulary(plain: Vocab) -> None:
    text = {"xx": [" ".join(OTHER[start : start + 6]) for start in range(15)] * 3}
    grown = extend_vocab(plain, text, 20, min_count=2)
    vocab = grown.with_target_languages(["xx"])
    before, extension = grown.extension, vocab.extension
    assert before is not None
    assert extension is not None
    assert extension.base == before.base == plain.size
    assert [row.tolist() for row in extension.pieces] == [*(row.tolist() for row in before.pieces), []]
    assert vocab.target("xx") == extension.size - 1


def test_a_language_without_one_is_refused_by_name(plain: Vocab) -> None:
    with pytest.raises(DataError, match="no target-language token for 'de'; it has none"):
        plain.target("de")
    with pytest.raises(DataError, match="'en_US'; it has them for de, en_us; did you mean 'en_us'"):
        plain.with_target_languages(["de", "en_us"]).target("en_US")
    with pytest.raises(DataError, match=r"it has them for de, en_us$"):
        plain.with_target_languages(["de", "en_us"]).target("xx")
