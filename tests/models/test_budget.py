"""How much a search takes on at once."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch

from interlace.core.errors import SettingsError
from interlace.models.generation import SearchSettings
from interlace.models.translator import MAX_SCORES, SCORES, TOKENS, BatchBudget, Translator, cache_bytes
from little_translators import LINES, little_model, little_vocab

GIB = 1 << 30


@pytest.fixture(scope="module")
def vocab():
    return little_vocab()


@pytest.fixture(scope="module")
def model(vocab):
    return little_model("modernbert", vocab)


def test_what_a_subword_takes_grows_with_width_and_layers():
    assert cache_bytes(512, 6) == 4 * 512 * (12 * 6 + 4 * 6 + 12)  # 216 KiB
    assert cache_bytes(1024, 6) == 2 * cache_bytes(512, 6)


def test_half_of_the_free_memory_is_for_subwords_and_a_quarter_for_scores():
    token = cache_bytes(512, 6)
    budget = BatchBudget.within(40 * GIB, token)
    assert budget.tokens == 20 * GIB // token == 97_090
    assert budget.scores == 10 * GIB // 16
    assert BatchBudget.within(80 * GIB, token).tokens == 40 * GIB // token
    both = BatchBudget.within(40 * GIB, 2 * token, models=2)
    assert (both.tokens, both.scores) == (10 * GIB // token, 5 * GIB // 16)


def test_it_is_never_less_than_on_a_cpu_and_never_more_than_kernels_count(model):
    assert BatchBudget.within(0, 1000) == BatchBudget(TOKENS, SCORES) == BatchBudget.of([model])
    assert BatchBudget.within(1000 * GIB, 1000).scores == MAX_SCORES


def test_on_a_gpu_what_torch_keeps_for_itself_is_free_too(monkeypatch):
    shape = SimpleNamespace(num_hidden_layers=6)
    model = SimpleNamespace(device=torch.device("cuda", 0), width=512, decoder=SimpleNamespace(config=shape))
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda _device: (30 * GIB, 80 * GIB))
    monkeypatch.setattr(torch.cuda, "memory_reserved", lambda _device: 14 * GIB)
    monkeypatch.setattr(torch.cuda, "memory_allocated", lambda _device: 4 * GIB)
    assert BatchBudget.of([model]) == BatchBudget.within(40 * GIB, cache_bytes(512, 6))
    assert BatchBudget.of([model, model]) == BatchBudget.within(40 * GIB, 2 * cache_bytes(512, 6), 2)


def test_a_translator_takes_what_is_asked_for_or_what_there_is_room_for(model, vocab, monkeypatch):
    monkeypatch.setattr(BatchBudget, "of", classmethod(lambda _cls, _models: BatchBudget(1000, 50 * model.vocab_size)))
    search = SearchSettings(beam=5)
    free = Translator([model], vocab, "en", "de", search)
    assert (free.tokens, free.rows) == (200, 10)
    asked = Translator([model], vocab, "en", "de", search, tokens=600, rows=4)
    assert (asked.tokens, asked.rows) == (120, 4)


class Tight(Translator):
    """A device with room for so many subwords at once."""

    room = 60

    def _generate(self, ids, limits, draws):
        taken = len(ids) * (int(ids.lengths.max()) + 2)
        self.taken = [*getattr(self, "taken", []), taken]
        if taken > self.room:
            raise torch.OutOfMemoryError
        return super()._generate(ids, limits, draws)


def test_what_does_not_fit_is_done_in_smaller_batches_and_comes_out_alike(model, vocab):
    lines = [*LINES, "", *LINES[::-1]]
    tight = Tight([model], vocab, "en", "de")
    expected = Translator([model], vocab, "en", "de").lines(lines)
    assert [one.text for one in tight.lines(lines)] == [one.text for one in expected]
    assert tight.taken[0] > tight.room
    failed = sum(np.array(tight.taken) > tight.room)
    tight.lines(lines)
    assert sum(np.array(tight.taken) > tight.room) == failed  # what was learnt holds for the lines to come


def test_a_sentence_that_does_not_fit_alone_is_told(model, vocab):
    tight = Tight([model], vocab, "en", "de")
    tight.room = 20
    with pytest.raises(SettingsError, match=r"a sentence of \d+ tokens with a beam of 5"):
        tight.lines(LINES)
