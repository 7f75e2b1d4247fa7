from __future__ import annotations

import pytest
from pydantic import Field, field_validator

from interlace.core.errors import SettingsError
from interlace.core.settings import MAX_INTEGER, Settings


class Warmup(Settings):
    steps: int = Field(100, ge=0, description="Steps with a rising learning rate.")
    start: float = Field(0.0, ge=0, le=1, description="Share of the peak at the first step.")


class Decay(Settings):
    power: float = -0.5


class Training(Settings):
    seed: int = Field(description="First field of every key.")
    name: str = "run"
    warmup: Warmup = Field(default_factory=Warmup)
    stages: list[Warmup] = []
    by_language: dict[str, Warmup] = {}
    schedule: Warmup | Decay = Warmup()

    @field_validator("name")
    @classmethod
    def _one_word(cls, name):
        if " " in name:
            message = "A name is one word"
            raise ValueError(message)
        return name


def complaint(data, where=""):
    with pytest.raises(SettingsError) as caught:
        Training.read({"seed": 1, **data}, where)
    return str(caught.value)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"sed": 1}, "unknown key 'sed'; did you mean 'seed'?"),
        ({"warmup": {"zzz": 1}}, "unknown key 'warmup.zzz'; there are: start, steps"),
        (
            {"stages": [{}, {"step": 1}]},
            "unknown key 'stages.1.step'; did you mean 'stages.1.steps'?",
        ),
        (
            {"by_language": {"x": {"step": 1}}},
            "unknown key 'by_language.x.step'; did you mean 'by_language.x.steps'?",
        ),
        (
            {"warmup": {"steps": -1}},
            "warmup.steps: input should be greater than or equal to 0 (found -1)",
        ),
        ({"name": "my run"}, "name: a name is one word (found 'my run')"),
    ],
)
def test_a_mistake_is_told_with_its_key_and_the_nearest_right_answer(data, message):
    assert complaint(data) == message
    assert complaint(data, "a.toml, [train]") == f"a.toml, [train]: {message}"


def test_a_text_in_place_of_a_list_is_told_how_a_list_looks():
    with pytest.raises(
        SettingsError, match=r"stages: expected a list, such as \['a', 'b'\] \("
    ):
        Training(seed=0, stages="x")


def test_the_members_of_a_union_advise_each_for_themselves():
    assert complaint({"schedule": {"powr": 1}}).splitlines() == [
        "unknown key 'schedule.Warmup.powr'; there are: start, steps",
        "unknown key 'schedule.Decay.powr'; did you mean 'schedule.Decay.power'?",
    ]


def test_several_mistakes_are_told_at_once():
    assert complaint({"sed": 1, "name": "a b"}).count("\n") == 1
    with pytest.raises(SettingsError, match="key 'seed' is required"):
        Training()


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"steps": MAX_INTEGER + 1}, f"steps: .*at most {MAX_INTEGER}"),
        ({"start": float("inf")}, "start: input should be a finite number"),
    ],
)
def test_numbers_are_finite_and_fit_arrays(data, message):
    with pytest.raises(SettingsError, match=message):
        Warmup(**data)
