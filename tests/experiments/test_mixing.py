"""The mixture: objectives, corpora, sides of parallel text and batches."""

import numpy as np
import pytest

from interlace.core.errors import DataError, SettingsError
from interlace.experiments.mixing import build_mixture
from interlace.experiments.monitoring import held_out
from interlace.experiments.pretrain import pretrain
from interlace.experiments.recipe import Recipe, read_recipe
from interlace.experiments.sections import TrainSettings
from interlace.experiments.workspace import Workspace
from interlace.models.families import Traits
from interlace.text.lines import write_lines
from run_records import about, records
from toy_settings import TOY, under

SMALL = TOY | {"vocab.size": "400"} | under("model.shape", layers="1", width="16", heads="2")
SMALL |= under(
    "train", tokens_per_update="256", threads="1", evaluate_tokens="256", precision='"no"'
)


@pytest.fixture
def run(tmp_path):
    def train(name, changes, folder="run"):
        into = tmp_path / folder
        pretrain(read_recipe(name, SMALL | changes), into)
        return into, records(into, "step"), records(into, "evaluation")[-1]["scores"]

    return train


def test_masked_and_causal_objectives_alternate(run):
    changes = {
        "objectives.clm": '{ max_length = 32, corpora = ["text"] }',
        "objectives.tlm.weight": '"0:0,6:0,7:1"',
        "train.alternate": "true",
        "train.language_alpha": '"0:1,6:0"',
        "train.steps": "12",
    }
    into, steps, scores = run("tiny/mlm-tlm", changes)
    assert [step["objective"] for step in steps[:6]] == ["mlm", "clm"] * 3
    assert {step["objective"] for step in steps[6:]} == {"mlm", "clm", "tlm"}
    measures = {"perplexity", "causal_perplexity"}
    assert {name.partition("/")[0] for name in scores} == measures
    facts = about(into)
    assert facts["tokens"] == sum(step["tokens"] for step in steps)
    assert sum(facts["shares"].values()) == pytest.approx(1, abs=1e-3)


def test_rejects_sentences_that_are_too_long_to_pack(run):
    changes = {
        "train.steps": "3",
        "objectives.mlm.max_length": "8",
        "objectives.mlm.packed": "true",
    }
    with pytest.raises(
        DataError,
        match=r"rows of 'en' are longer than 6 tokens; raise objectives\.mlm\.max_length",
    ):
        run("tiny/mlm", changes)


EN = "old house small garden green river long street".split()
DE = "alt Haus klein Garten grün Fluss lang Straße".split()
ES = "viejo casa pequeño jardín verde río largo calle".split()
TRAITS = Traits("bert", 64)


def _lines(words, count):
    return [
        f"{words[i % 8]} {words[(i + 1) % 8]} {words[(3 * i) % 8]} {i % 3}"
        for i in range(count)
    ]


@pytest.fixture
def root(tmp_path, own_cache):
    """Two pairs, en-es half as long as en-de, with held-out text; the words are linked one by one."""
    for split, longer, shorter in (("train", 80, 40), ("dev", 40, 3)):
        for pair, other, count in (("en-de", DE, longer), ("en-es", ES, shorter)):
            write_lines(tmp_path / f"{split}.{pair}.en", _lines(EN, count))
            write_lines(tmp_path / f"{split}.{pair}.{pair[-2:]}", _lines(other, count))
    write_lines(tmp_path / "links.en-de", ["0-0 1-1 2-2 3-3"] * 80)
    write_lines(tmp_path / "links.en-es", ["0-0 1-1 2-2 3-3"] * 40)
    return tmp_path


def pairs_only(root, objectives, **more):
    return Recipe.read({
        "name": "small",
        "data_root": str(root),
        "corpora": {
            "web": {
                "pairs": ["en-de", "en-es"],
                "train": ["train.{pair}.{source}", "train.{pair}.{target}"],
                "dev": ["dev.{pair}.{source}", "dev.{pair}.{target}"],
            },
        },
        "align": {"name": "pharaoh", "links": str(root / "links.{pair}")},
        "vocab": {"size": 400},
        "objectives": {name: {"max_length": 32, **settings} for name, settings in objectives.items()},
        **more,
    })  # fmt: skip


SIDES = ["en-de:en", "en-de:de", "en-es:en", "en-es:es"]


def sources(recipe):
    mixture = build_mixture(Workspace(recipe).open(), TRAITS)
    return {
        name: [one.corpus for one in mixture.sources if one.objective == name]
        for name in recipe.objectives
    }


def test_objectives_read_pairs_or_one_or_both_of_their_sides(root):
    found = sources(
        pairs_only(root, {"mlm": {}, "clm": {"corpora": ["web"]}, "align_mlm": {}, "tlm": {}})
    )
    assert found == {"mlm": SIDES, "clm": SIDES, "align_mlm": SIDES, "tlm": ["en-de", "en-es"]}
    named = {"mlm": ["en-es"], "clm": ["en-de:de"], "align_mlm": ["en-es", "web"]}
    named = {name: {"corpora": corpora} for name, corpora in named.items()}
    found = sources(pairs_only(root, named))
    assert found["mlm"] == ["en-es:en", "en-es:es"]
    assert found["clm"] == ["en-de:de"]
    assert found["align_mlm"] == [*SIDES[2:], *SIDES[:2]]  # each once
    text = {"languages": ["en"], "train": "train.en-de.en"}
    corpora = {"text": text, **pairs_only(root, {"mlm": {}}).dump()["corpora"]}
    assert sources(pairs_only(root, {"mlm": {}}, corpora=corpora)) == {"mlm": ["en"]}
    message = r"objectives\.mlm\.corpora: no corpus 'en-de:es'; did you mean 'en-(de:|es:)e"
    with pytest.raises(SettingsError, match=message):
        pairs_only(root, {"mlm": {"corpora": ["en-de:es"]}})


def test_languages_are_sampled_by_temperature_across_pairs_and_evaluated_by_side(root):
    recipe = pairs_only(root, {"mlm": {}}, train={"language_alpha": "0.5", "steps": 4000})
    mixture = build_mixture(Workspace(recipe).open(), TRAITS)
    # each is shuffled by a key of its own
    assert len({source.plan.plan.corpus for source in mixture.sources}) == 4
    drawn = np.bincount([draw.source for draw in mixture.draws(0, 4000, (), 1)]) / 4000
    roots = np.sqrt([120, 80, 40])  # en, de, es
    english, german, spanish = roots / roots.sum()
    assert drawn == pytest.approx([english * 2 / 3, german, english / 3, spanish], abs=0.025)
    found = held_out(Workspace(recipe).open(), TRAITS)
    assert [one.corpus for one in found] == SIDES[:2]  # three lines of en-es fill no row


def measured(root, objectives, **corpora):
    """The objective's kind of each held-out measure and corpus."""
    recipe = pairs_only(root, objectives, corpora=corpora, align=None)
    rows = held_out(Workspace(recipe).open(), TRAITS)
    return {(one.name, one.corpus): type(one.objective).__name__ for one in rows}


TEXT = {"languages": ["en", "de"]}
TEXT |= {split: f"{split}.en-de.{{language}}" for split in ("train", "dev")}
HELD = {"pairs": ["de-en"], "dev": ["dev.en-de.{source}", "dev.en-de.{target}"]}
LEARNT = {**HELD, "train": ["train.en-de.{source}", "train.en-de.{target}"]}


@pytest.mark.parametrize(
    ("names", "expected"),
    [("mass", "Mass"), ("mass denoise", "Denoise"), ("back_translation", "Denoise")],
)
def test_evaluates_with_the_training_objective(root, names, expected):
    found = measured(root, {name: {} for name in names.split()}, text=TEXT)
    assert found == {("perplexity", "en"): expected, ("perplexity", "de"): expected}


def test_held_out_pairs_evaluate_every_direction_of_translation_objectives_only(root):
    directions = {("perplexity", one): "Translation" for one in ("de-en", "en-de")}
    objectives = {"denoise": {}, "back_translation": {}}
    assert measured(root, objectives, text=TEXT, held=HELD) == directions
    turned = {"pairs": ["en-de"], "train": LEARNT["train"]}
    # as in xlm/mt-ro-en:bt-offline-mlm
    both = measured(
        root, {"translation": {"directions": "forward"}}, pairs=LEARNT, turned=turned
    )
    assert {corpus.rpartition(":")[2] for _, corpus in both} == {"de-en", "en-de"}
    mixed = {"translation": {}, "mlm": {}}
    found = measured(root, mixed, pairs={**LEARNT, "dev": []}, text=TEXT)
    assert {name for name, _ in found} == {"masked_perplexity"}


def test_an_update_is_the_same_on_every_number_of_processes_that_divides_it():
    train = TrainSettings(tokens_per_update=6144, tokens_per_micro_batch=1024)
    assert (train.micro_batches, train.micro_batch_tokens) == (6, 1024)
    smaller = TrainSettings(tokens_per_update=512, tokens_per_micro_batch=1024)
    assert (smaller.micro_batches, smaller.micro_batch_tokens) == (1, 512)
    for count in (1, 2, 3, 6):
        train.check_processes(count)
    with pytest.raises(SettingsError, match=r"by 4 processes evenly; .* 1536 or less"):
        train.check_processes(4)
