"""What the alignments of a corpus are stored by."""

import pytest

from interlace.aligners.similarity import Similarity
from interlace.data.corpus_text import CorpusText
from interlace.experiments.alignments import CorpusAlignments
from interlace.readers import READERS
from interlace.text.lines import write_lines
from interlace.text.normalization import Normalization
from interlace.text.word_tokenizers import WORD_TOKENIZERS


@pytest.mark.parametrize("name", ["model.safetensors", "config.json", "tokenizer.json"])
def test_alignments_are_made_anew_when_the_encoder_changes(name, tmp_path):
    encoder = tmp_path / "encoder"
    encoder.mkdir()
    (encoder / name).write_text("{}")
    write_lines(tmp_path / "en", ["a cat"])
    write_lines(tmp_path / "de", ["eine Katze"])
    text = CorpusText(
        languages=("en", "de"),
        files=(tmp_path / "en", tmp_path / "de"),
        reader=READERS.build("lines"),
        word_tokenizer=WORD_TOKENIZERS.build("whitespace"),
        normalization=Normalization(),
        filters=(),
    )
    aligner = Similarity(start=str(encoder))
    before = CorpusAlignments(text, aligner).id
    assert CorpusAlignments(text, aligner).id == before
    (encoder / name).write_text('{"trained": "further"}')
    assert CorpusAlignments(text, aligner).id != before
