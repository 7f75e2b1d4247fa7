"""Files by which sentence-transformers opens a checkpoint with the sentence vectors of retrieval.

The vector of a sentence is the mean of a layer's states without special tokens, with length 1. sentence-transformers
has a module for each part. `WordWeights` gives special tokens the weight 0. The layer is the last one of a model that
is opened without the layers above it, so one copy of the weights serves both; ModernBERT's last layer is followed by a
norm that the states below lack, so there `WeightedLayerPooling` takes the layer from the whole model.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from interlace.data.vocab import Vocab
    from interlace.models.backbone import Backbone

LAYERS, WEIGHTS, POOLING, NORM = "1_WeightedLayerPooling", "1_WordWeights", "1_Pooling", "2_Normalize"


def write_sentence_modules(folder: Path, backbone: Backbone, vocab: Vocab, layer: int, max_length: int) -> None:
    """Write `modules.json` and the configuration of each module into the folder of a model.

    layer: 0 the embeddings. max_length: of a sequence, in tokens.
    """
    depth, width = int(backbone.model.config.num_hidden_layers), backbone.width
    modules, below = {"Transformer": "", "WordWeights": WEIGHTS, "Pooling": POOLING, "Normalize": NORM}, layer < depth
    transformer: dict[str, Any] = {"max_seq_length": min(max_length, backbone.traits.max_length)}
    names = [""] * max(vocab.size, backbone.vocab_size)  # of the special tokens alone; the others have the weight 1
    for number in (vocab.begin, vocab.end, vocab.pad):
        names[number] = str(vocab.tokenizer.id_to_token(number))
    weights = {name: 0.0 for name in names if name}
    configs: dict[str, Any] = {
        WEIGHTS: {"vocab": names, "word_weights": weights, "unknown_word_weight": 1.0},
        POOLING: {"word_embedding_dimension": width, "pooling_mode_mean_tokens": True, "pooling_mode_cls_token": False},
        NORM: {},
    }
    if below and backbone.family.name == "modernbert":
        modules = {"Transformer": "", "WeightedLayerPooling": LAYERS, **modules}
        configs[LAYERS] = {"word_embedding_dimension": width, "num_hidden_layers": depth, "layer_start": layer}
        transformer["config_args"] = {"output_hidden_states": True}
    elif below:
        transformer["config_args"] = {"num_hidden_layers": layer}
    for path, config in configs.items():
        (folder / path).mkdir(exist_ok=True)
        _write(folder / path / "config.json", config)
    if LAYERS in configs:
        import torch
        from safetensors.torch import save_file

        chosen = torch.eye(1, depth + 1 - layer)[0]
        save_file({"layer_weights": chosen}, folder / LAYERS / "model.safetensors", metadata={"format": "pt"})
    kinds = enumerate(modules.items())
    listed = [
        {"idx": number, "name": str(number), "path": path, "type": f"sentence_transformers.models.{kind}"}
        for number, (kind, path) in kinds
    ]
    _write(folder / "sentence_bert_config.json", transformer)
    _write(folder / "modules.json", listed)


def _write(path: Path, data: Any) -> None:
    path.write_text(json.dumps(data, ensure_ascii=False) + "\n", encoding="utf-8")
