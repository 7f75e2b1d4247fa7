"""How a translation model begins: what encoder and decoder each take, and from which checkpoint.

Conneau & Lample (2019, section 5.1) begin each side from nothing, a causal or a masked model; a decoder takes the
layers of either one by one, table and head with them.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from interlace.core.errors import SettingsError
from interlace.models._seq2seq_build import fresh_decoder, join, take_over
from interlace.models.build import config_of, redrawn
from interlace.models.families import family_of
from interlace.models.languages import RECORD
from interlace.models.seq2seq import Seq2Seq
from interlace.models.shape import DecoderSettings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from interlace.data.vocab import Vocab
    from interlace.models._crossed import Crossed
    from interlace.models.backbone import Backbone
    from interlace.models.shape import ModelSettings, Shape


def begin(settings: ModelSettings, vocab: Vocab, languages: Sequence[str], seed: int) -> Seq2Seq:
    """The translation model that settings describe; see `ModelSettings.build`."""
    decoding = settings.decoder or DecoderSettings()
    found = settings.encoder(vocab, languages, seed)
    if isinstance(found, Seq2Seq):
        return _whole(settings, found)
    encoder = found if settings.take == "whole" else redrawn(found, settings.take, seed)
    shared = decoding.table == "shared"
    if decoding.shape is not None:
        return join(encoder, _shaped(decoding.shape, encoder, vocab, seed), share=shared)
    same = _is_same(decoding.start, settings.start)
    source = found if same else _source(settings, decoding, vocab, languages, seed)
    decoder = fresh_decoder(source.model.config, seed, _layers(decoding, source))
    if decoding.take != "none" and (settings.start or decoding.start):
        _take(decoding, decoder, source)
        if shared:
            _give_table(settings, decoding, encoder, source)
    return join(encoder, decoder, share=shared, notes=() if source is found else source.notes)


def _take(decoding: DecoderSettings, decoder: Crossed, source: Backbone) -> None:
    """Give a fresh decoder what it is to take of its start."""
    if decoding.take == "whole":
        take_over(decoder, source.model)
    else:
        decoder.model.get_input_embeddings().weight.data.copy_(source.table.data)


def _whole(settings: ModelSettings, found: Seq2Seq) -> Seq2Seq:
    """A translation model goes on as it is."""
    if settings.take != "whole" or (settings.decoder is not None and settings.decoder != DecoderSettings()):
        message = f"model.start = {settings.start!r} is a translation model, which goes on whole"
        raise SettingsError(f"{message}; leave model.take and [model.decoder] out")
    return found


def _shaped(shape: Shape, encoder: Backbone, vocab: Vocab, seed: int) -> Crossed:
    """A fresh decoder of a shape of its own, with the encoder's languages, in its rows, where it can have them."""
    config = config_of(shape, vocab)
    config.vocab_size = encoder.vocab_size
    languages = encoder.traits.languages
    if languages and family_of(config).language_input is not None:
        config.type_vocab_size = max(config.type_vocab_size, 1 + max(languages.values()))
        setattr(config, RECORD, languages)
    return fresh_decoder(config, seed)


def _source(
    settings: ModelSettings, decoding: DecoderSettings, vocab: Vocab, languages: Sequence[str], seed: int
) -> Backbone:
    """The checkpoint that a decoder of another start than the encoder begins from."""
    start = str(decoding.start)
    _must_share_subwords(start, vocab)
    source = settings.encoder(vocab, languages, seed, start=start)
    if isinstance(source, Seq2Seq):
        message = f"model.decoder.start = {start!r} is a translation model"
        raise SettingsError(f"{message}; name it in model.start to go on from both its sides")
    return source


def _give_table(settings: ModelSettings, decoding: DecoderSettings, encoder: Backbone, source: Backbone) -> None:
    """Let the table of the decoder's start serve both sides.

    Raises:
        SettingsError: the encoder has one of another checkpoint, or one of another size.
    """
    if settings.start is not None and settings.take != "none" and not _is_same(decoding.start, settings.start):
        message = f"encoder and decoder share a table of subwords, but {settings.start!r} and {decoding.start!r}"
        raise SettingsError(f"{message} each have one; set model.decoder.table = 'own'")
    if encoder.table.shape != source.table.shape:
        raise SettingsError(
            f"the encoder has {encoder.vocab_size} subwords and states {encoder.width} wide, {decoding.start!r} has "
            f"{source.vocab_size} and {source.width}; give model.shape that width and vocab.start that name"
        )
    encoder.table.data.copy_(source.table.data)


def _is_same(start: str | None, encoders: str | None) -> bool:
    """Whether a decoder begins from the encoder's start: it names no other, or the same in other words."""
    if start is None or encoders is None:
        return start is None
    one, other = (Path(name).expanduser() for name in (start, encoders))
    return start == encoders or (one.is_dir() and other.is_dir() and one.samefile(other))


def _must_share_subwords(start: str, vocab: Vocab) -> None:
    """A decoder's start must number subwords as the model does."""
    from interlace.data.vocab import Vocab as Vocabulary

    theirs = Vocabulary.load(start).tokenizer.get_vocab(with_added_tokens=True)
    other = next((token for token, number in theirs.items() if vocab.tokenizer.token_to_id(token) != number), None)
    if other is not None:
        message = f"model.decoder.start = {start!r}: its vocabulary is not the model's ({other!r} has another number)"
        raise SettingsError(f"{message}; both sides must begin from checkpoints of one vocabulary")


def _layers(decoding: DecoderSettings, source: Backbone) -> int | None:
    there = int(source.model.config.num_hidden_layers)
    if decoding.layers is not None and decoding.layers > there:
        raise SettingsError(f"model.decoder.layers = {decoding.layers}, but its start has {there}")
    return decoding.layers
