"""The mixture: objectives, corpora, sides of parallel text and batches."""

import json

import numpy as np
import pytest
from transformers import AutoModelForCausalLM, AutoModelForMaskedLM, AutoTokenizer

from interlace.core.errors import DataError, SettingsError
from interlace.data.packing import Streams
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
    mixture = facts["mixture"]
    assert sum(mixture["steps"].values()) == 12
    assert sum(mixture["languages"].values()) == sum(mixture["tokens"].values()) == facts["tokens"]
    assert sum(mixture["rows"].values()) == sum(step["rows"] for step in steps) > 12
    assert all(sum(step["languages"].values()) == step["tokens"] for step in steps)
    assert facts["perplexity_unit"] == "per masked subword"
    assert AutoModelForMaskedLM.from_pretrained(into / "model", trust_remote_code=False)


def test_causal_run_reports_perplexity_and_samples(run):
    into, _, scores = run("tiny/clm", {"train.steps": "3"})
    facts = about(into)
    assert facts["perplexity_unit"] == "per subword"
    assert {"perplexity/en", "perplexity/mean"} < set(scores)
    sample = json.loads((into / "samples.json").read_text())[0]["rows"][0]
    assert sample["changed"] == []
    assert sample["targets"][:3] == sample["tokens"][1:4]
    model = AutoModelForCausalLM.from_pretrained(into / "model", trust_remote_code=False)
    tokenizer = AutoTokenizer.from_pretrained(into / "model", trust_remote_code=False)
    ids = tokenizer("the", return_tensors="pt").input_ids[:, :-1]
    written = model.generate(ids, max_new_tokens=5, do_sample=False)
    assert written.shape[1] > ids.shape[1]


def test_packing_fills_sequences_with_whole_sentences_and_pairs(run):
    changes = {"train.steps": "8", "train.tokens_per_update": "512"}
    changes |= {"model.shape.max_length": "128", "objectives.tlm.max_length": "128"}
    _, single, _ = run("tiny/mlm-tlm", changes)
    packed = {f"objectives.{name}.packed": "true" for name in ("mlm", "tlm")}
    _, filled, _ = run("tiny/mlm-tlm", changes | packed, "filled")

    def tokens_a_row(steps, name):
        chosen = [step for step in steps if step["objective"] == name]
        return sum(step["tokens"] for step in chosen) / sum(step["rows"] for step in chosen)

    a_row = [
        {name: tokens_a_row(steps, name) for name in ("mlm", "tlm")} for steps in (single, filled)
    ]
    assert a_row[0]["mlm"] == 64 > a_row[1]["mlm"] > 52  # none is cut, so some room is left
    assert a_row[0]["tlm"] < 64 < a_row[1]["tlm"] < 128
    padded = {"model.shape.family": '"bert"', "objectives.tlm.packed": '"halves"'}
    _, halves, _ = run("tiny/mlm-tlm", changes | packed | padded, "halves")
    assert {step["rows"] for step in halves if step["objective"] == "tlm"} == {
        4
    }  # of 128 tokens with their padding
    assert tokens_a_row(halves, "tlm") < 124


def test_rejects_sentences_that_are_too_long_to_pack(run):
    changes = {
        "train.steps": "3",
        "objectives.mlm.max_length": "8",
        "objectives.mlm.packed": "true",
    }
    with pytest.raises(
        DataError, match=r"rows of 'en' are longer than 6 tokens; raise objectives\.mlm\.max_length"
    ):
        run("tiny/mlm", changes)


@pytest.mark.parametrize("weight", ["3", "0:0,10:0.5"])
def test_rejects_weights_with_alternation(weight):
    corpora = {"text": {"languages": ["en"], "train": "a"}}
    with pytest.raises(
        SettingsError, match=r"objectives\.mlm\.weight = .* has no effect with train\.alternate"
    ):
        Recipe(
            name="x",
            corpora=corpora,
            objectives={"mlm": {"weight": weight}},
            train={"alternate": True},
        )


EN = "old house small garden green river long street".split()
DE = "alt Haus klein Garten grün Fluss lang Straße".split()
ES = "viejo casa pequeño jardín verde río largo calle".split()
TRAITS = Traits("bert", 64)


def _lines(words, count):
    return [
        f"{words[i % 8]} {words[(i + 1) % 8]} {words[(3 * i) % 8]} {i % 3}" for i in range(count)
    ]


@pytest.fixture
def root(tmp_path, monkeypatch):
    """Two pairs, en-es half as long as en-de, with held-out text; the words are linked one by one."""
    monkeypatch.setenv("INTERLACE_CACHE", str(tmp_path / "cache"))
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
    corpora = pairs_only(root, {"mlm": {}}).dump()["corpora"]
    assert sources(pairs_only(root, {"mlm": {}}, corpora={"text": text, **corpora})) == {
        "mlm": ["en"]
    }
    both = pairs_only(
        root, {"mlm": {"corpora": ["text", "web"]}}, corpora={"text": text, **corpora}
    )
    assert sources(both) == {"mlm": ["en", *SIDES]}
    with pytest.raises(
        SettingsError,
        match=r"'en-de:en' is not parallel, but 'tlm' reads pairs; did you mean 'en-de'",
    ):
        pairs_only(root, {"tlm": {"corpora": ["en-de:en", "en-es"]}})
    message = r"objectives\.mlm\.corpora: no corpus 'en-de:es'; did you mean 'en-(de:|es:)e"
    with pytest.raises(SettingsError, match=message):
        pairs_only(root, {"mlm": {"corpora": ["en-de:es"]}})


def test_sides_match_monolingual_corpora(root):
    """A run on the pairs sees what a run on the same files as single sentences sees."""
    recipe = pairs_only(root, {"mlm": {}})
    alone = {"text": {"languages": ["de"], "train": "train.en-de.{language}"}}
    whole = pairs_only(root, {"mlm": {}}, corpora={**alone, **recipe.dump()["corpora"]})
    workspace = Workspace(whole).open()
    german, side = workspace.readable["de"], workspace.readable["en-de:de"]
    assert side.language == "de"
    assert side.counts == german.counts
    assert np.array_equal(
        side.frequencies(workspace.vocab.size), german.frequencies(workspace.vocab.size)
    )
    one, other = (Streams(corpus, 14, workspace.vocab.end) for corpus in (german, side))
    rows = np.arange(len(one))
    assert len(one) == len(other) > 10
    for shift in (0, 5):
        assert one.take(rows, shift) == other.take(rows, shift)


def test_languages_are_sampled_by_temperature_across_pairs_and_evaluated_by_side(root):
    recipe = pairs_only(root, {"mlm": {}}, train={"language_alpha": "0.5", "steps": 4000})
    mixture = build_mixture(Workspace(recipe).open(), TRAITS)
    assert (
        len({source.plan.plan.corpus for source in mixture.sources}) == 4
    )  # each is shuffled by a key of its own
    drawn = np.bincount([draw.source for draw in mixture.draws(0, 4000, (), 1)]) / 4000
    roots = np.sqrt([120, 80, 40])  # en, de, es
    english, german, spanish = roots / roots.sum()
    assert drawn == pytest.approx([english * 2 / 3, german, english / 3, spanish], abs=0.025)
    found = held_out(Workspace(recipe).open(), TRAITS)
    assert [one.corpus for one in found] == [
        "en-de:en",
        "en-de:de",
    ]  # three lines of en-es fill no row


@pytest.mark.parametrize("unit", ["sentences", "tokens"])
def test_shares_of_languages_count_sentences_or_tokens(root, unit):
    recipe = pairs_only(root, {"mlm": {}}, train={"sampling_unit": unit})
    workspace = Workspace(recipe).open()
    for source in build_mixture(workspace, TRAITS).sources:
        lengths = workspace.readable[source.corpus].lengths
        assert source.size == (len(lengths) if unit == "sentences" else lengths.sum())


def test_all_objectives_train_on_one_group_of_pairs(root):
    model = {"shape": {"layers": 1, "width": 16, "heads": 2, "max_length": 64}}
    train = {
        "steps": 8,
        "alternate": True,
        "tokens_per_update": 128,
        "threads": 1,
        "precision": "no",
    }
    train |= {"evaluate_tokens": 256, "diagnostics": {"every": 8, "pairs": 8}}
    objectives = {
        "mlm": {},
        "alm": {},
        "weam": {},
        "align_mlm": {"dictionary": {"share": 1.0, "min_count": 1}},
    }
    recipe = pairs_only(root, objectives, model=model, train=train)
    pretrain(recipe, root / "run")
    facts = about(root / "run")
    read = {name.partition("/")[0] for name in facts["mixture"]["steps"]}
    assert read == set(objectives)
    assert set(facts["mixture"]["languages"]) == {"en", "de", "es"}
    assert {row["corpus"] for row in facts["data"]} == {"en-de", "en-es"}
    for row in records(root / "run", "step"):
        if row["objective"] in {"mlm", "align_mlm"}:
            assert row["languages"] == {row["corpus"][-2:]: row["tokens"]}
    assert {"perplexity/en-de:en", "perplexity/en-de:de"} < set(
        records(root / "run", "evaluation")[-1]["scores"]
    )
    kept = {path.name for path in (root / "run" / "dictionaries").iterdir()}
    assert kept == {"align_mlm.en-de.tsv", "align_mlm.en-es.tsv"}


def test_an_update_is_the_same_on_every_number_of_processes_that_divides_it():
    train = TrainSettings(tokens_per_update=6144, tokens_per_micro_batch=1024)
    assert (train.micro_batches, train.micro_batch_tokens) == (6, 1024)
    for count in (1, 2, 3, 6):
        train.check_processes(count)
    with pytest.raises(
        SettingsError, match=r"by 4 processes evenly; use 1 or 2 or 3 or 6 .* at most 1536"
    ):
        train.check_processes(4)
    with pytest.raises(
        SettingsError, match=r"use 1 .* at most 2048"
    ):  # the whole update is one micro-batch
        TrainSettings().check_processes(2)
    with pytest.raises(SettingsError, match=r"tokens_per_update \(1000\) must be a multiple"):
        TrainSettings(tokens_per_update=1000, tokens_per_micro_batch=300)
