"""Settings of the training of an encoder on the links of a text."""

from pydantic import Field

from interlace.core.settings import Settings


class TrainingSettings(Settings):
    """What the training of the encoder reads of the aligner's settings."""

    start: str = Field(
        "bert-base-multilingual-cased",
        description="The encoder: a checkpoint folder or a name on the Hub.",
    )
    updates: int = Field(
        80,
        ge=1,
        description="Maximum updates of the encoder, in which no pair is read more than three times.",
    )
    tokens_per_update: int = Field(
        640, ge=16, description="Padded tokens of the longer sides in an update."
    )
    learning_rate: float = Field(
        5e-5, gt=0, description="Peak learning rate of AdamW (Dou & Neubig 2021: 2e-5)."
    )
    temperature: float = Field(
        0.05, gt=0, description="Divisor of cosines of standardized vectors before the softmax."
    )
    seed: int = Field(0, ge=0, description="Seed of `gibbs` and of the order of the pairs.")
