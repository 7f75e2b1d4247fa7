"""Chinese sentences worked out by hand: classifiers, 了 过 会, 不 没有 任何, 在 .. 里, parted verbs, the copulas."""

from __future__ import annotations

import pytest

from interlace.toy import Phrase, Scene, language, links, problems

READS = Scene("read", Phrase("doctor", "the", "old"), object=Phrase("letter", "three"), place=Phrase("library", "the"))
GIVES = Scene("give", Phrase("teacher", "a", "young"), "past", Phrase("apple", "two", "red"), Phrase("boy", "this"),
              time="last_week", fronted=True)  # fmt: skip


@pytest.mark.parametrize(
    ("scene", "text"),
    [
        (READS, "老医生在图书馆里读三封信。"),
        (GIVES, "上周，一位年轻的教师给了这个男孩两个红色的苹果。"),
        # tenses, and their denials
        (Scene("laugh", Phrase("leo")), "利奥笑。"),
        (Scene("laugh", Phrase("leo"), "past"), "利奥笑了。"),
        (Scene("laugh", Phrase("leo"), "future"), "利奥会笑。"),
        (Scene("laugh", Phrase("leo"), negated=True), "利奥不笑。"),
        (Scene("laugh", Phrase("leo"), "past", negated=True), "利奥没有笑。"),
        (Scene("laugh", Phrase("leo"), "future", negated=True), "利奥不会笑。"),
        (Scene("laugh", Phrase("king", "no"), "past"), "没有国王笑过。"),
        # results are denied from within, verbs with an object of their own parted by 过
        (Scene("see", Phrase("leo"), object=Phrase("horse", "these"), negated=True), "利奥看不见这些马。"),
        (Scene("see", Phrase("leo"), "past", Phrase("horse", "these"), negated=True), "利奥没有看见这些马。"),
        (Scene("sleep", Phrase("king", "no"), "past"), "没有国王睡过觉。"),
        (Scene("sleep", Phrase("king", "the"), "past"), "国王睡觉了。"),
        # states take no 了: their time says when
        (Scene("love", Phrase("leo"), "past", Phrase("nina"), time="last_year"), "利奥去年爱尼娜。"),
        (Scene("love", Phrase("leo"), "past", Phrase("nina"), time="last_year", negated=True), "利奥去年不爱尼娜。"),
        # verbs and adjectives by what they are said of
        (Scene("visit", Phrase("peter"), "past", Phrase("nina")), "彼得拜访了尼娜。"),
        (Scene("visit", Phrase("peter"), "past", Phrase("museum", "a", "old")), "彼得参观了一座旧博物馆。"),
        (Scene("wear", Phrase("peter"), object=Phrase("hat", "this")), "彼得戴这顶帽子。"),
        (Scene("play", Phrase("peter"), object=Phrase("violin", "a", "small")), "彼得演奏一把小的小提琴。"),
        (Scene("buy", Phrase("leo"), "past", Phrase("car", "a", "expensive"), negated=True),
         "利奥没有买任何昂贵的汽车。"),
        # every, with whom, to whom, where to
        (Scene("dance", Phrase("soldier", "every"), "future", companion=Phrase("queen", "the"), manner="happily"),
         "每名士兵都会和女王一起高兴地跳舞。"),
        (Scene("send", Phrase("maria", surname="weber"), "past", Phrase("letter", "many"), Phrase("nurse", "the")),
         "玛丽亚·韦伯给护士寄了许多信。"),
        (Scene("call", Phrase("leo"), "past", Phrase("nina")), "利奥给尼娜打电话了。"),
        (Scene("travel", Phrase("sailor", "some"), "past", goal=Phrase("lake", "the")), "一些水手到湖边旅行了。"),
        (Scene("return", Phrase("leo"), "past", goal=Phrase("village", "the")), "利奥回到了村庄。"),
        (Scene("arrive", Phrase("leo"), "past", place=Phrase("harbor", "the")), "利奥到达了港口。"),
        # be
        (Scene("be", Phrase("peter"), "past", category="chef", negated=True, time="last_year"), "彼得去年不是厨师。"),
        (Scene("be", Phrase("cup", "these"), "future", quality="empty", time="next_month"), "这些杯子下个月会是空的。"),
        (Scene("be", Phrase("soup"), quality="cold"), "汤很冷。"),
        (Scene("be", Phrase("soup"), quality="cold", negated=True), "汤不冷。"),
        (Scene("be", Phrase("key", "no"), quality="new"), "没有钥匙是新的。"),
        (Scene("be", Phrase("key", "the"), place=Phrase("street", "the"), negated=True), "钥匙不在街道上。"),
    ],
)  # fmt: skip
def test_statements(scene: Scene, text: str) -> None:
    assert not problems(scene)
    assert language("zh").realize(scene).text == text


@pytest.mark.parametrize(
    ("scene", "role", "text"),
    [
        (READS, "subject", "谁在图书馆里读三封信？"),
        (READS, "object", "老医生在图书馆里读什么？"),
        (READS, "object.count", "老医生在图书馆里读几封信？"),
        (READS, "place", "老医生在哪里读三封信？"),
        (GIVES, "recipient", "一位年轻的教师上周给了谁两个红色的苹果？"),
        (GIVES, "time", "一位年轻的教师什么时候给了这个男孩两个红色的苹果？"),
        (Scene("travel", Phrase("leo"), "past", goal=Phrase("rome"), companion=Phrase("anna")), "goal",
         "利奥和安娜一起到哪里旅行了？"),
        (Scene("travel", Phrase("leo"), "past", goal=Phrase("rome"), companion=Phrase("anna")), "companion",
         "利奥和谁一起到罗马旅行了？"),
        (Scene("call", Phrase("leo"), "future", Phrase("nina")), "object", "利奥会给谁打电话？"),
        (Scene("be", Phrase("key", "the"), place=Phrase("rome")), "place", "钥匙在哪里？"),
        (Scene("laugh", Phrase("king", "every"), "past", time="yesterday"), "subject", "谁昨天笑了？"),
    ],
)  # fmt: skip
def test_questions(scene: Scene, role: str, text: str) -> None:
    assert not problems(scene)
    assert language("zh").question(scene, role).text == text


def test_gold() -> None:
    words = language("zh").realize(GIVES).words
    assert [word.form for word in words] == (
        "上 周 ， 一 位 年轻 的 教师 给 了 这 个 男孩 两 个 红色 的 苹果 。".split()
    )
    assert [word.upos for word in words] == (
        "DET NOUN PUNCT NUM NOUN ADJ PART NOUN VERB AUX DET NOUN NOUN NUM NOUN ADJ PART NOUN PUNCT".split()
    )
    assert [word.head for word in words] == [2, 9, 9, 8, 4, 8, 6, 9, 0, 9, 13, 11, 9, 18, 14, 18, 16, 9, 9]
    assert [word.deprel for word in words[3:7]] == ["nummod", "clf", "amod", "mark:rel"]


def test_a_name_of_two_parts_is_one_name() -> None:
    words = language("zh").realize(Scene("laugh", Phrase("anna", surname="chen"))).words
    assert [(word.form, word.name) for word in words[:4]] == [
        ("安娜", "B-PER"), ("·", "I-PER"), ("陈", "I-PER"), ("笑", "O"),
    ]  # fmt: skip


def test_a_comma_tells_last_week_from_last_friday() -> None:
    week = Scene("run", Phrase("pupil", "five"), "past", goal=Phrase("park", "the"), time="last_week", fronted=True)
    assert language("zh").realize(week).text == "上周，五名小学生跑到了公园。"
    friday = week._replace(subject=Phrase("pupil", "the"), time="last_friday")
    assert language("zh").realize(friday).text == "上周五，小学生跑到了公园。"


def test_links_with_english() -> None:
    scene = Scene("find", Phrase("anna"), "past", Phrase("key", "a"), place=Phrase("park", "the"), negated=True)
    english, chinese = language("en").realize(scene), language("zh").realize(scene)
    assert english.text == "Anna did not find a key in the park."
    assert chinese.text == "安娜没有在公园里找到任何钥匙。"
    # Anna, did-没有, not-没有, find-找到, a-任何, key-钥匙, in-在 and in-里, park-公园
    assert links(english, chinese) == [
        (0, 0), (1, 1), (2, 1), (3, 5), (4, 6), (5, 7), (6, 2), (6, 4), (8, 3), (9, 8),
    ]  # fmt: skip
