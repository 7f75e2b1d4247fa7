"""What a run began with and its recipe only names by a path: it must still be that when the run goes on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from interlace.core.errors import RunError
from interlace.training import checkpoint
from interlace.training.run_folder import read_json, write_json

if TYPE_CHECKING:
    from pathlib import Path

    from interlace.data.vocab import Vocab
    from interlace.models.backbone import Backbone

BEGAN = "began.json"


def hold_to_beginning(into: Path, vocab: Vocab, backbone: Backbone) -> None:
    """Write down what a run begins with; when it goes on, see that its subwords are the same, and tell the old facts.

    Raises:
        RunError: the vocabulary is another one now, so the checkpoint's rows would be of other subwords.
    """
    found: dict[str, Any] | None = read_json(into / BEGAN)
    if found is None or not checkpoint.steps_in(into / "checkpoints"):
        write_json(into / BEGAN, {"vocabulary": vocab.fingerprint, "begun": backbone.begun})
        return
    if found["vocabulary"] != vocab.fingerprint:
        raise RunError(
            f"{into}: this run began with other subwords than {vocab.name} has now, so its checkpoints would mean "
            "other words; bring the old tokenizer (or the text it was learnt from) back, or choose another folder"
        )
    backbone.begun = found["begun"]
