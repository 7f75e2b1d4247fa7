"""A pipe or a device among the files of others, which would never end, is an error that names it."""

import json
import signal
from pathlib import Path

import pytest

from interlace.core.errors import InterlaceError
from interlace.data.vocab import Vocab
from interlace.embeddings import WordVectors
from interlace.experiments.recipe import RECIPES
from interlace.models.build import from_shape, load
from interlace.models.checkpoint_files import read_config
from interlace.models.settings import Shape
from interlace.readers import READERS
from interlace.readers.common.files import find_files
from interlace.report.runs import read_runs
from interlace.tasks.common.files import FileQuery, find_parts
from little_files import named_pipe
from little_translators import little_vocab


@pytest.fixture(autouse=True)
def seconds():
    """Ends a test that waits for ever."""

    def stop(*_):
        pytest.fail("waits for ever")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(60)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.fixture
def checkpoint(tmp_path):
    vocab = little_vocab()
    return from_shape(Shape(layers=1, width=16, heads=2), vocab).save_pretrained(
        tmp_path / "model", vocab
    )


@pytest.mark.parametrize(
    "name", ["shard.safetensors", "config.json", "vocab.txt", "generation_config.json"]
)
def test_of_a_checkpoint(checkpoint, name):
    if name == "shard.safetensors":
        (checkpoint / "model.safetensors").unlink()
        index = {"weight_map": {"embeddings": name}}
        (checkpoint / "model.safetensors.index.json").write_text(json.dumps(index))
    (checkpoint / name).unlink(missing_ok=True)
    named_pipe(checkpoint / name)
    with pytest.raises(InterlaceError, match=rf"model/{name}: a pipe or a device"):
        load(checkpoint)


@pytest.mark.parametrize("name", ["tokenizer.json", "vocab.txt", "tokenizer_config.json"])
def test_of_a_tokenizer(tmp_path, name):
    (tmp_path / "config.json").write_text('{"model_type": "bert"}')
    named_pipe(tmp_path / name)
    with pytest.raises(InterlaceError, match=rf"/{name}: a pipe or a device"):
        Vocab.load(str(tmp_path))


@pytest.mark.parametrize("pattern", ["data", "data/*.txt", "data/b.txt", "data/**"])
def test_of_a_corpus(tmp_path, pattern):
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "a.txt").write_text("a\n")
    named_pipe(tmp_path / "data" / "b.txt")
    with pytest.raises(InterlaceError, match=r"data/b\.txt: a pipe or a device"):
        list(READERS.build("lines").read_chunks(find_files(tmp_path, pattern), ["en"]))


@pytest.mark.parametrize("name", ["train.jsonl", "dataset_infos.json", "README.md"])
def test_of_a_folder_with_the_files_of_a_data_set_of_the_hub(tmp_path, name):
    pytest.importorskip("datasets")
    (tmp_path / "set").mkdir()
    named_pipe(tmp_path / "set" / name)
    path = Path(f"hub:{tmp_path}/set/default/train")
    with pytest.raises(InterlaceError, match=rf"set/{name}: a pipe or a device"):
        list(READERS.build("dataset").read_chunks([path], ["en"]))


@pytest.mark.parametrize("make", [lambda path: path.symlink_to("nowhere"), named_pipe])
@pytest.mark.parametrize(
    ("name", "open_it"),
    [
        (
            "en",
            lambda path: find_parts("{language}", FileQuery("ner", "test", "en", path.parent)),
        ),
        ("a.toml", lambda path: RECIPES.find("a.toml", path.parent)),
        ("run", lambda path: read_runs([path])),
        ("model", load),
        ("en.safetensors", lambda path: WordVectors.load(path.parent, "en")),
        ("config.json", lambda path: read_config(path.parent)),
    ],
)
def test_no_other_name_is_proposed_for_a_pipe_or_a_link_to_nothing(
    tmp_path, make, name, open_it
):
    make(tmp_path / name)
    reason = "(a symbolic link to nowhere, where|a pipe or a device)"
    with pytest.raises(InterlaceError, match=f"{name}: {reason}"):
        open_it(tmp_path / name)


def test_a_device_that_a_link_names(checkpoint):
    (checkpoint / "notes.json").symlink_to("/dev/zero")
    with pytest.raises(InterlaceError, match=r"model/notes\.json: a pipe or a device"):
        load(checkpoint)
