import pytest

from interlace.data.vocab import Vocab

LINES = {
    "en": [
        "the old doctor reads three letters.",
        "he works in Berlin (near the café)",
        "don't the doctors read it?",
    ],
    "hi": ["पुराना डॉक्टर तीन पत्र पढ़ता है", "नमस्ते दुनिया, वह बर्लिन में काम करता है।"],
    "zh": ["老医生读三封信。", "他在柏林工作"],
    "tr": ["yaşlı doktor üç mektup okuyor", "Berlin'de çalışıyor"],
    "th": ["หมออ่านจดหมายสามฉบับ", "เขาทำงานที่นี่"],
}


@pytest.fixture(scope="session")
def lines():
    """A few lines of five languages, two of them without blanks between words."""
    return LINES


@pytest.fixture(scope="session")
def vocab():
    """A byte-level vocabulary of them."""
    return Vocab.learn(LINES, 400)
