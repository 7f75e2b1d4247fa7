"""Language codes: data sets use ISO 639-3, we use ISO 639-1 where a code exists.

Some two-letter codes denote a group of languages (zh, sw, fa). Data sets then use the group's code (zho, swa; also in
ISO 639-2) or the code of its main language (cmn, swh); both are tried, the latter first.
"""

_CODES = """
aa:aar ab:abk ae:ave af:afr ak:aka am:amh an:arg ar:ara as:asm av:ava ay:aym az:aze ba:bak be:bel bg:bul bi:bis bm:bam
bn:ben bo:bod br:bre bs:bos ca:cat ce:che ch:cha co:cos cr:cre cs:ces cu:chu cv:chv cy:cym da:dan de:deu dv:div dz:dzo
ee:ewe el:ell en:eng eo:epo es:spa et:est eu:eus fa:fas ff:ful fi:fin fj:fij fo:fao fr:fra fy:fry ga:gle gd:gla gl:glg
gn:grn gu:guj gv:glv ha:hau he:heb hi:hin ho:hmo hr:hrv ht:hat hu:hun hy:hye hz:her ia:ina id:ind ie:ile ig:ibo ii:iii
ik:ipk io:ido is:isl it:ita iu:iku ja:jpn jv:jav ka:kat kg:kon ki:kik kj:kua kk:kaz kl:kal km:khm kn:kan ko:kor kr:kau
ks:kas ku:kur kv:kom kw:cor ky:kir la:lat lb:ltz lg:lug li:lim ln:lin lo:lao lt:lit lu:lub lv:lav mg:mlg mh:mah mi:mri
mk:mkd ml:mal mn:mon mr:mar ms:msa mt:mlt my:mya na:nau nb:nob nd:nde ne:nep ng:ndo nl:nld nn:nno no:nor nr:nbl nv:nav
ny:nya oc:oci oj:oji om:orm or:ori os:oss pa:pan pi:pli pl:pol ps:pus pt:por qu:que rm:roh rn:run ro:ron ru:rus rw:kin
sa:san sc:srd sd:snd se:sme sg:sag sh:hbs si:sin sk:slk sl:slv sm:smo sn:sna so:som sq:sqi sr:srp ss:ssw st:sot su:sun
sv:swe sw:swa ta:tam te:tel tg:tgk th:tha ti:tir tk:tuk tl:tgl tn:tsn to:ton tr:tur ts:tso tt:tat tw:twi ty:tah ug:uig
uk:ukr ur:urd uz:uzb ve:ven vi:vie vo:vol wa:wln wo:wol xh:xho yi:yid yo:yor za:zha zh:zho zu:zul
"""
_MAIN_LANGUAGE = """
az:azj et:ekk fa:pes ku:kmr lv:lvs mg:plt mn:khk ms:zsm ne:npi no:nob om:gaz or:ory ps:pbt sq:als sw:swh uz:uzn zh:cmn
"""

_BIBLIOGRAPHIC = """
bo:tib cs:cze cy:wel de:ger el:gre eu:baq fa:per fr:fre hy:arm is:ice ka:geo mi:mao mk:mac ms:may my:bur nl:dut ro:rum
sk:slo sq:alb zh:chi
"""  # ISO 639-2/B, in older data sets and libraries
_CHINESE = "yue wuu nan hak gan hsn cdo cjy lzh".split()  # written in Han, so words as in zh

THREE = dict(pair.split(":") for pair in _CODES.split())
"""ISO 639-1 to ISO 639-3."""


_MAIN_LANGUAGE_OF = dict(pair.split(":") for pair in _MAIN_LANGUAGE.split())
_BASE = dict.fromkeys(_CHINESE, "zh")
for _pair in f"{_MAIN_LANGUAGE} {_CODES} {_BIBLIOGRAPHIC}".split():
    _two, _three = _pair.split(":")
    _BASE[_three] = _two


def three_letters(language: str) -> tuple[str, ...]:
    """Return the codes that data sets may use for a language, most likely first; without any, the language itself.

    >>> three_letters("de"), three_letters("zh"), three_letters("swh")
    (('deu',), ('cmn', 'zho'), ('swh',))
    """
    both = (_MAIN_LANGUAGE_OF.get(language), THREE.get(language))
    return tuple(code for code in both if code is not None) or (language,)


def base_language(language: str) -> str:
    """Return the code by which rules of a language are looked up, of two letters if there is one.

    Script and country are dropped; varieties of Chinese, which share a script and its rules, are `zh`.

    >>> [base_language(code) for code in ("jpn", "zh-Hant", "cmn_Hans", "fre", "pt_BR", "ceb")]
    ['ja', 'zh', 'zh', 'fr', 'pt', 'ceb']
    """
    code = language.replace("-", "_").partition("_")[0].lower()
    return _BASE.get(code, code)
