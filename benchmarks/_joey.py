"""Joey NMT (Kreutzer et al. 2019) as a peer: its configuration, and its training and translating as a program.

It reads the subwords that ours reads, as words joined by blanks, so that only model and training differ.
"""

from __future__ import annotations

import json
import math
import re
import signal
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from interlace.text.lines import read_lines, write_lines

if TYPE_CHECKING:
    from collections.abc import Sequence

    from interlace.data.vocab import Vocab

LAYERS, WIDTH, HEADS = 3, 256, 4
FEED_FORWARD = 1024  # two matrices of it hold as many weights as the three of a gated layer of 688
SPECIALS = ["<unk>", "<pad>", "<s>", "</s>"]


def ended(command: list[str], log: Path, seconds: float, folder: Path | None = None) -> bool:
    """Run a command, in a folder, for a time; whether it came to its end.

    When time is up it is interrupted as by a person: then the peer saves where it stands, which it else does only at a
    better perplexity. A command that does not heed that within a minute is ended.
    """
    with log.open("ab") as file:
        process = subprocess.Popen(command, stdout=file, stderr=subprocess.STDOUT, cwd=folder)
        try:
            code = process.wait(timeout=max(1.0, seconds))
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGINT)
            try:
                process.wait(timeout=60)
            except subprocess.TimeoutExpired:
                process.terminate()
                process.wait()
            return False
    if code:
        tail = "\n".join(log.read_text(encoding="utf-8", errors="replace").split("\n")[-15:])
        raise SystemExit(f"{' '.join(command[:5])} .. ended with {code}; the end of {log}:\n{tail}")
    return True


@dataclass(frozen=True)
class Peer:
    """Joey NMT of another Python, in a folder of its own."""

    python: str
    into: Path
    languages: tuple[str, str]

    def write_data(self, split: str, sides: Sequence[Sequence[str]], vocab: Vocab) -> None:
        """Both sides of a split as subwords."""
        for language, lines in zip(self.languages, sides, strict=True):
            ids = vocab.encode(list(lines), language=language).ids
            tokens = ([vocab.tokenizer.id_to_token(number) for number in row] for row in ids.to_lists())
            write_lines(self.into / f"{split}.{language}", (" ".join(row) for row in tokens))

    def write_vocab(self, vocab: Vocab) -> None:
        """Its subwords, specials first."""
        known = [vocab.tokenizer.id_to_token(number) for number in vocab.regular_ids.tolist()]
        write_lines(self.into / "vocab.txt", [*SPECIALS, *known])

    def train(self, updates: int, rows: int, rate: float, warmup: int, seconds: float) -> int:
        """Train for a time, going on from the segment before; returns updates done."""
        segments = sorted(self.into.glob("segment-*"))
        done = max((_updates(one) for one in segments), default=0)
        if done >= updates:
            return done
        before = next((one / "latest.ckpt" for one in reversed(segments) if (one / "latest.ckpt").exists()), None)
        folder = self.into / f"segment-{len(segments):03d}"
        config = self._config(folder, updates, rows, rate, warmup)
        if before is not None:
            config["training"]["load_model"] = str(before.resolve())
        path = self._keep(config, "train.yaml")
        self._run(["train", str(path), "--skip-test"], seconds)
        return max(done, _updates(folder))

    def translate(self, split: str, vocab: Vocab, updates: int, rows: int, seconds: float) -> list[str] | None:
        """Its translations of a split by its best checkpoint; None where time is up.

        A segment begins with the best perplexity of those before it, and marks a checkpoint as best only where that is
        lower: so the last mark is the best of all.
        """
        segments = [one for one in sorted(self.into.glob("segment-*")) if (one / "best.ckpt").exists()]
        config = self._config(segments[-1], updates, rows, 1e-3, 1)
        config["testing"]["load_model"] = str((segments[-1] / "best.ckpt").resolve())
        path = self._keep(config, "test.yaml")
        out = self.into / "translated"
        if not self._run(["test", str(path), "--output-path", str(out)], seconds):
            return None
        found = Path(f"{out}.{split}")
        ids = ([vocab.tokenizer.token_to_id(token) for token in line.split()] for line in read_lines(found))
        return [vocab.decode([number for number in row if number is not None]) for row in ids]

    def parameters(self) -> int:
        """Weights of its model, as it counts them in its log."""
        for log in sorted(self.into.glob("segment-*/train.log")):
            for line in log.read_text(encoding="utf-8").split("\n"):
                if "Total params:" in line:
                    return int(line.rpartition(":")[2])
        return 0

    def _keep(self, config: dict[str, Any], name: str) -> Path:
        path = self.into / name
        text = json.dumps(config, indent=1)  # JSON is YAML, but for numbers such as 1e-09, which PyYAML reads as words
        path.write_text(re.sub(r"(?<![\d.])(\d+)e-", r"\1.0e-", text), encoding="utf-8")
        return path

    def _run(self, arguments: list[str], seconds: float) -> bool:
        command = [self.python, "-m", "joeynmt", *arguments]
        return ended(command, self.into / "log", seconds, self.into)

    def _config(self, folder: Path, updates: int, rows: int, rate: float, warmup: int) -> dict[str, Any]:
        every = max(1, min(500, updates // 2))
        side = {
            "type": "transformer",
            "num_layers": LAYERS,
            "num_heads": HEADS,
            "embeddings": {"embedding_dim": WIDTH, "scale": True, "dropout": 0.1},
            "hidden_size": WIDTH,
            "ff_size": FEED_FORWARD,
            "dropout": 0.1,
            "layer_norm": "pre",
        }
        return {
            "name": "peer",
            "joeynmt_version": "2.3.0",
            "model_dir": str(folder),
            "use_cuda": False,
            "fp16": False,
            "random_seed": 42,
            "data": self._data(),
            "testing": {
                "beam_size": 5,
                "beam_alpha": 1.0,
                "batch_size": 64,
                "batch_type": "sentence",
                "max_output_length": -1,  # 1.5 times the source
                "eval_metrics": ["bleu"],
                "generate_unk": False,
            },
            "training": {
                "optimizer": "adam",
                "adam_betas": [0.9, 0.98],
                "learning_rate": rate,
                "learning_rate_warmup": warmup,
                "learning_rate_min": 1e-9,
                "scheduling": "warmupinversesquareroot",
                "normalization": "tokens",
                "label_smoothing": 0.1,
                "clip_grad_norm": 1.0,
                "batch_size": rows,
                "batch_type": "sentence",
                "early_stopping_metric": "ppl",
                "epochs": 100_000,
                "updates": updates,
                "validation_freq": every,
                "logging_freq": math.gcd(every, 50),
                "keep_best_ckpts": 1,
                "print_valid_sents": [0],
            },
            "model": {
                "initializer": "xavier_uniform",
                "embed_initializer": "xavier_uniform",
                "tied_embeddings": True,
                "tied_softmax": True,
                "encoder": side,
                "decoder": side,
            },
        }

    def _data(self) -> dict[str, Any]:
        source, target = (
            {
                "lang": language,
                "level": "word",
                "lowercase": False,
                "normalize": False,
                "max_length": 128,
                "voc_file": str(self.into / "vocab.txt"),
            }
            for language in self.languages
        )
        splits = {split: str(self.into / split) for split in ("train", "dev", "test")}
        return {**splits, "dataset_type": "plain", "src": source, "trg": target}


def _updates(folder: Path) -> int:
    """Updates of the last checkpoint of a segment."""
    return max((int(path.stem) for path in folder.glob("*.ckpt") if path.stem.isdigit()), default=0)


def left(until: float) -> float:
    """Seconds until a time of `time.monotonic`."""
    return until - time.monotonic()
