"""Train and translate with Joey NMT (Kreutzer et al. 2019) in another Python environment.

It reads the subwords of interlace as words separated by spaces, so only model and training differ.
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
FEED_FORWARD = 1024  # as many weights as a gated layer of inner size 688
SPECIALS = ["<unk>", "<pad>", "<s>", "</s>"]


def run_with_timeout(
    command: list[str], log: Path, seconds: float, folder: Path | None = None
) -> bool:
    """Run a command, and return whether it finished in time.

    SIGINT lets Joey NMT save a checkpoint; otherwise it saves only at a better perplexity. After another minute
    the command is terminated.
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
        raise SystemExit(
            f"{' '.join(command[:5])} .. failed with exit code {code}; last lines of {log}:\n{tail}"
        )
    return True


@dataclass(frozen=True)
class JoeyNMT:
    """Joey NMT of an interpreter, with all its files in one folder."""

    python: str
    folder: Path
    languages: tuple[str, str]

    def write_data(self, split: str, sides: Sequence[Sequence[str]], vocab: Vocab) -> None:
        """Write both sides of a split as subwords."""
        for language, lines in zip(self.languages, sides, strict=True):
            ids = vocab.encode(list(lines), language=language).ids
            tokens = (
                [vocab.tokenizer.id_to_token(number) for number in row]
                for row in ids.to_lists()
            )
            write_lines(self.folder / f"{split}.{language}", (" ".join(row) for row in tokens))

    def write_vocab(self, vocab: Vocab) -> None:
        regular = [vocab.tokenizer.id_to_token(number) for number in vocab.regular_ids.tolist()]
        write_lines(self.folder / "vocab.txt", [*SPECIALS, *regular])

    def train(self, updates: int, rows: int, rate: float, warmup: int, seconds: float) -> int:
        """Train in a new segment that resumes the previous one, and return the finished updates."""
        segments = sorted(self.folder.glob("segment-*"))
        done = max((_updates(one) for one in segments), default=0)
        if done >= updates:
            return done
        checkpoint = next(
            (
                one / "latest.ckpt"
                for one in reversed(segments)
                if (one / "latest.ckpt").exists()
            ),
            None,
        )
        segment = self.folder / f"segment-{len(segments):03d}"
        config = self._config(segment, updates, rows, rate, warmup)
        if checkpoint is not None:
            config["training"]["load_model"] = str(checkpoint.resolve())
        self._run(["train", str(self._write(config, "train.yaml")), "--skip-test"], seconds)
        return max(done, _updates(segment))

    def translate(
        self, split: str, vocab: Vocab, updates: int, rows: int, seconds: float
    ) -> list[str] | None:
        """Translate a split with the best checkpoint, or return None after a timeout.

        A segment starts with the best perplexity of the previous ones, so the last best.ckpt is the best of all.
        """
        segment = [
            one for one in sorted(self.folder.glob("segment-*")) if (one / "best.ckpt").exists()
        ][-1]
        config = self._config(segment, updates, rows, 1e-3, 1)
        config["testing"]["load_model"] = str((segment / "best.ckpt").resolve())
        output = self.folder / "translated"
        if not self._run(
            ["test", str(self._write(config, "test.yaml")), "--output-path", str(output)],
            seconds,
        ):
            return None
        lines = read_lines(Path(f"{output}.{split}"))
        ids = ([vocab.tokenizer.token_to_id(token) for token in line.split()] for line in lines)
        return [vocab.decode([number for number in row if number is not None]) for row in ids]

    def parameters(self) -> int:
        """Return the number of weights from the log."""
        for log in sorted(self.folder.glob("segment-*/train.log")):
            for line in log.read_text(encoding="utf-8").split("\n"):
                if "Total params:" in line:
                    return int(line.rpartition(":")[2])
        return 0

    def _write(self, config: dict[str, Any], name: str) -> Path:
        path = self.folder / name
        # JSON is YAML, except that PyYAML reads 1e-09 as a string
        text = json.dumps(config, indent=1)
        path.write_text(re.sub(r"(?<![\d.])(\d+)e-", r"\1.0e-", text), encoding="utf-8")
        return path

    def _run(self, arguments: list[str], seconds: float) -> bool:
        return run_with_timeout(
            [self.python, "-m", "joeynmt", *arguments],
            self.folder / "log",
            seconds,
            self.folder,
        )

    def _config(
        self, segment: Path, updates: int, rows: int, rate: float, warmup: int
    ) -> dict[str, Any]:
        every = max(1, min(500, updates // 2))
        side = {
            "type": "transformer", "num_layers": LAYERS, "num_heads": HEADS, "hidden_size": WIDTH,
            "embeddings": {"embedding_dim": WIDTH, "scale": True, "dropout": 0.1}, "ff_size": FEED_FORWARD,
            "dropout": 0.1, "layer_norm": "pre",
        }  # fmt: skip
        text = {
            "level": "word", "lowercase": False, "normalize": False, "max_length": 128,
            "voc_file": str(self.folder / "vocab.txt"),
        }  # fmt: skip
        return {
            "name": "peer", "joeynmt_version": "2.3.0", "model_dir": str(segment), "use_cuda": False, "fp16": False,
            "random_seed": 42,
            "data": {
                **{split: str(self.folder / split) for split in ("train", "dev", "test")}, "dataset_type": "plain",
                "src": {"lang": self.languages[0], **text}, "trg": {"lang": self.languages[1], **text},
            },
            "testing": {
                "beam_size": 5, "beam_alpha": 1.0, "batch_size": 64, "batch_type": "sentence",
                "max_output_length": -1,  # 1.5 times the source
                "eval_metrics": ["bleu"], "generate_unk": False,
            },
            "training": {
                "optimizer": "adam", "adam_betas": [0.9, 0.98], "learning_rate": rate,
                "learning_rate_warmup": warmup, "learning_rate_min": 1e-9, "scheduling": "warmupinversesquareroot",
                "normalization": "tokens", "label_smoothing": 0.1, "clip_grad_norm": 1.0, "batch_size": rows,
                "batch_type": "sentence", "early_stopping_metric": "ppl", "epochs": 100_000, "updates": updates,
                "validation_freq": every, "logging_freq": math.gcd(every, 50), "keep_best_ckpts": 1,
                "print_valid_sents": [0],
            },
            "model": {
                "initializer": "xavier_uniform", "embed_initializer": "xavier_uniform", "tied_embeddings": True,
                "tied_softmax": True, "encoder": side, "decoder": side,
            },
        }  # fmt: skip


def _updates(segment: Path) -> int:
    """Return the updates of the last checkpoint of a segment."""
    return max(
        (int(path.stem) for path in segment.glob("*.ckpt") if path.stem.isdigit()), default=0
    )


def seconds_left(deadline: float) -> float:
    """Return the seconds until a time of `time.monotonic`."""
    return deadline - time.monotonic()
