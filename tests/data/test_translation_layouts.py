"""Languages are found among the codes of real tokenizers."""

from transformers.models.mbart.tokenization_mbart import FAIRSEQ_LANGUAGE_CODES as MBART
from transformers.models.mbart50.tokenization_mbart50 import FAIRSEQ_LANGUAGE_CODES as MBART50
from transformers.models.nllb.tokenization_nllb import FAIRSEQ_LANGUAGE_CODES as NLLB

from interlace.data.translation_layouts import LAYOUTS, find_code, layout_name

NAMES = "ar de en et fa no sw uz zh zh-Hant zho_Hant deu xx"
CODES = {
    "nllb": "arb_Arab deu_Latn eng_Latn est_Latn pes_Arab nob_Latn swh_Latn uzn_Latn zho_Hans zho_Hant zho_Hant "
    "deu_Latn -",
    "mbart": "ar_AR de_DE en_XX et_EE - - - - zh_CN - - - -",
}


def found(codes):
    return " ".join(find_code(name, codes) or "-" for name in NAMES.split())


def test_finds_languages_among_the_codes_of_published_tokenizers():
    assert found(NLLB) == CODES["nllb"]
    assert found(MBART) == CODES["mbart"]


def test_all_published_codes_are_recognized():
    pattern = LAYOUTS["m2m_100"].code
    for code in (*NLLB, *MBART, *MBART50, "__de__", "__ast__"):
        assert pattern.fullmatch(code), code
    for token in ("<s>", "</s>", "<unk>", "<mask>", "<2de>", "<extra_id_0>", "madeupword0"):
        assert not pattern.fullmatch(token)


def test_the_layout_follows_from_the_class_else_from_the_model():
    classes = {
        "MBartTokenizerFast": "mbart",
        "MBart50Tokenizer": "m2m_100",
        "NllbTokenizerFast": "m2m_100",
        "T5TokenizerFast": "t5",
        "XLMRobertaTokenizer": "interlace",
    }
    for name, layout in classes.items():
        assert layout_name({"tokenizer_class": name}, {}) == layout
    assert (
        layout_name({"tokenizer_class": "PreTrainedTokenizerFast"}, {"model_type": "mt5"})
        == "t5"
    )
    assert layout_name({}, {"model_type": "mbart"}) == "mbart"
    assert (
        layout_name({"tokenizer_class": "MBart50Tokenizer"}, {"model_type": "mbart"})
        == "m2m_100"
    )
    assert (
        layout_name({"tokenizer_class": "T5Tokenizer"}, {"model_type": "roberta"})
        == "interlace"
    )
    assert layout_name({}, {"model_type": "mbart", "tokenizer_class": "MBart50Tokenizer"}) == (
        "m2m_100"
    )
    stored = {"translation_layout": "mbart", "tokenizer_class": "PreTrainedTokenizerFast"}
    assert layout_name(stored, {}) == "mbart"
    assert layout_name({"translation_layout": ["x"]}, {}) == "interlace"
