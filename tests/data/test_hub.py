"""Names on the hub without a network: what was downloaded before is used, else the cure is named."""

from __future__ import annotations

from typing import TYPE_CHECKING

import huggingface_hub
import pytest
from huggingface_hub import constants, errors

from interlace.core.errors import CheckpointError, DataError
from interlace.data.vocab import Vocab
from interlace.models.build import load
from little_checkpoints import save

if TYPE_CHECKING:
    from pathlib import Path

NAME = "somebody/little"


@pytest.fixture
def downloads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder of downloads, and no network (which no test has)."""
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    monkeypatch.chdir(tmp_path)
    return tmp_path / "hub"


def test_what_was_downloaded_before_is_used(downloads: Path) -> None:
    repository = downloads / "models--somebody--little"
    save("mbert", repository / "snapshots" / "abc")
    (repository / "refs").mkdir()
    (repository / "refs" / "main").write_text("abc")
    vocab = Vocab.load(NAME)
    assert load(NAME, vocab).vocab_size == vocab.size


@pytest.mark.usefixtures("downloads")
@pytest.mark.parametrize(("opens", "kind"), [(Vocab.load, DataError), (load, CheckpointError)])
def test_without_a_network_the_cure_is_named(opens, kind) -> None:
    with pytest.raises(kind) as caught:
        opens(NAME)
    message = str(caught.value)
    assert message.startswith(f"'{NAME}': no such folder, not in the cache (HF_HOME), and the hub cannot be reached")
    assert f"`hf download {NAME} --local-dir FOLDER` (huggingface-cli in old versions), and give FOLDER" in message


@pytest.mark.parametrize(
    ("kind", "said"),
    [(errors.RepositoryNotFoundError, "no such repository"), (errors.GatedRepoError, "its authors grant access")],
)
def test_names_that_the_hub_refuses(kind, said, monkeypatch) -> None:
    def refuse(*_args, **_more):
        raise kind.__new__(kind)

    monkeypatch.setattr(huggingface_hub, "snapshot_download", refuse)
    with pytest.raises(DataError, match=f"the Hugging Face hub refuses it: {said}"):
        Vocab.load(NAME)


def test_a_run_named_in_place_of_its_model_is_told(tmp_path: Path) -> None:
    save("mbert", tmp_path / "run" / "model")
    with pytest.raises(DataError, match=r"run: holds no tokenizer\.json; if it is a run, give its model, .*run/model$"):
        Vocab.load(str(tmp_path / "run"))


@pytest.mark.parametrize("kind", ["bert", "roberta"])
def test_a_checkpoint_without_a_tokenizer_is_refused(tmp_path: Path, kind: str) -> None:
    """Of these kinds transformers makes a tokenizer out of nothing: special tokens, and every word unknown."""
    (tmp_path / "config.json").write_text(f'{{"model_type": "{kind}", "vocab_size": 300}}')
    with pytest.raises(DataError, match=r"holds no tokenizer; put the checkpoint's own tokenizer\.json"):
        Vocab.load(str(tmp_path))
