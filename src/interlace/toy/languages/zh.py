"""Chinese: unspaced, no inflection; classifiers, 了 and 会 for tense, 不 and 没有, places between 在 and 里.

A noun without a determiner is "the" one, 一 with a classifier is "a". Companions, places and manners precede the
verb. The gold words are small: classifiers, particles and localizers are words of their own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, NamedTuple

from interlace.toy.concepts import NOUNS, NUMERALS, TOWNS
from interlace.toy.languages import ToyLanguage
from interlace.toy.sentences import (
    CATEGORY,
    COPULA,
    MANNER,
    NEGATION,
    PREDICATE,
    QUALITY,
    QUESTION,
    TENSE,
    Roles,
    Token,
    ToySentence,
    cells,
    citation_forms,
    finish,
    join,
    part,
    phrase_of_time,
    proper,
    time_tokens,
    word_map,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from interlace.toy.scenes import Phrase, Scene

# ---- words ----


class _Noun(NamedTuple):
    """A noun and its classifier."""

    form: str
    classifier: str  # "" for mass nouns


class _Verb(NamedTuple):
    """tail: 见 of 看见, 觉 of 睡觉, separated from the head by inserted words, else one word with it."""

    head: str
    tail: str
    result: bool  # the tail is a result, so 不 is inserted: 看不见
    state: bool  # takes neither 了 nor 没有: 爱, 需要


# concept, word, classifier
_NOUNS = """
doctor 医生 位 | nurse 护士 名 | patient 病人 名 | dentist 牙医 名 | teacher 教师 位 | student 大学生 名
pupil 小学生 名
professor 教授 位 | scientist 科学家 位 | writer 作家 位 | journalist 记者 名 | secretary 秘书 名 | chef 厨师 名
waiter 服务员 名 | baker 面包师 名 | farmer 农民 名 | gardener 园丁 名 | shepherd 牧羊人 名 | fisherman 渔夫 名
sailor 水手 名 | captain 船长 名 | pilot 飞行员 名 | driver 司机 名 | tourist 游客 名 | musician 音乐家 位
singer 歌手 名
dancer 舞蹈家 位 | painter 画家 位 | actor 演员 名 | photographer 摄影师 名 | engineer 工程师 名 | mechanic 修理工 名
carpenter 木匠 名 | worker 工人 名 | policeman 警察 名 | judge 法官 位 | lawyer 律师 位 | thief 小偷 个
merchant 商人 名
customer 顾客 位 | neighbor 邻居 位 | guest 客人 位 | mother 母亲 位 | father 父亲 位 | grandmother 祖母 位
grandfather 祖父 位 | brother 哥哥 个 | sister 姐姐 个 | boy 男孩 个 | girl 女孩 个 | man 男人 个 | woman 女人 个
king 国王 位 | queen 女王 位 | soldier 士兵 名 | person 人 个 | animal 动物 只
dog 狗 只 | cat 猫 只 | horse 马 匹 | cow 奶牛 头 | sheep 绵羊 只 | goat 山羊 只 | pig 猪 头 | hen 母鸡 只
duck 鸭子 只
mouse 老鼠 只 | rabbit 兔子 只 | wolf 狼 只 | bear 熊 头 | lion 狮子 头 | elephant 大象 头 | monkey 猴子 只
snake 蛇 条
frog 青蛙 只 | bee 蜜蜂 只 | eagle 老鹰 只 | fish 鱼 条
apple 苹果 个 | banana 香蕉 根 | pear 梨 个 | potato 土豆 个 | tomato 番茄 个 | carrot 胡萝卜 根 | egg 鸡蛋 个
cake 蛋糕 个
bread 面包 | cheese 奶酪 | rice 米饭 | meat 肉 | soup 汤 | honey 蜂蜜 | chocolate 巧克力 | water 水 | milk 牛奶
tea 茶
coffee 咖啡 | juice 果汁 | wine 葡萄酒
book 书 本 | letter 信 封 | newspaper 报纸 份 | poem 诗 首 | report 报告 份 | map 地图 张 | message 消息 条
hammer 锤子 把 | knife 刀 把 | axe 斧头 把 | saw 锯子 把 | rope 绳子 根 | bucket 水桶 个 | ladder 梯子 架
key 钥匙 把
lamp 灯 盏 | plate 盘子 个 | cup 杯子 个 | spoon 勺子 把 | bottle 瓶子 个
hat 帽子 顶 | coat 外套 件 | shirt 衬衫 件 | shoe 鞋子 只 | dress 连衣裙 条 | scarf 围巾 条
table 桌子 张 | chair 椅子 把 | bed 床 张 | cupboard 柜子 个 | door 门 扇 | window 窗户 扇 | mirror 镜子 面
car 汽车 辆 | bicycle 自行车 辆 | boat 船 艘 | truck 卡车 辆 | bus 公交车 辆 | tractor 拖拉机 台
guitar 吉他 把 | violin 小提琴 把 | piano 钢琴 架 | flute 笛子 支 | drum 鼓 面 | trumpet 小号 把
computer 电脑 台 | telephone 电话机 部 | camera 照相机 台 | radio 收音机 台 | clock 时钟 座 | ball 球 个
doll 洋娃娃 个
gift 礼物 份 | picture 图画 幅 | statue 雕像 座 | stone 石头 块 | tree 树 棵 | flower 花 朵 | bag 袋子 个
box 箱子 个
umbrella 雨伞 把 | basket 篮子 个 | ring 戒指 枚 | coin 硬币 枚 | ticket 票 张 | medicine 药 | bandage 绷带 条
tool 工具 件 | vehicle 交通工具 个 | instrument 乐器 件
hospital 医院 家 | pharmacy 药店 家 | school 学校 所 | university 大学 所 | library 图书馆 座 | office 办公室 间
kitchen 厨房 间 | restaurant 餐馆 家 | bakery 面包店 家 | market 市场 个 | shop 商店 家 | farm 农场 个 | field 田地 块
garden 花园 座 | forest 森林 片 | park 公园 座 | lake 湖 个 | river 河 条 | beach 海滩 片 | harbor 港口 个
island 海岛 座
station 车站 个 | airport 机场 座 | hotel 酒店 家 | museum 博物馆 座 | theater 剧院 家 | workshop 作坊 家
factory 工厂 家
church 教堂 座 | street 街道 条 | castle 城堡 座 | house 房子 栋 | village 村庄 个
"""
# "+" a result, which 不 parts from the verb; "-" verb and object, parted by 过; "state"
_VERBS = """
sleep 睡-觉 | work 工作 | laugh 笑 | cry 哭 | dance 跳-舞 | sing 唱-歌 | wait 等待 | swim 游-泳 | arrive 到达
jump 跳
go 去 | travel 旅行 | return 回到 | run 跑到 | eat 吃 | eat_soup 喝 | drink 喝 | cook 煮 | bake 烤 | buy 买
sell 卖 | read 读
write 写 | see 看+见 | find 找+到 | lose 弄丢 | seek 寻找 | help 帮助 | visit 参观 | visit_person 拜访 | greet 问候
call 打-电话 | invite 邀请 | love 爱 state | know 熟悉 state | need 需要 state | follow 跟随 | photograph 拍摄
paint 画
repair 修理 | clean 清洁 | wash 洗 | open 打开 | close 关上 | wear 穿 | wear_head 戴 | lift 举起 | push 推
drive 驾驶
play 演奏 | hear 听+见 | build 造 | cut 切 | cut_tree 砍 | cut_stem 剪 | plant 种 | feed 喂 | catch 捉 | steal 偷
hide 藏
forget 忘记 | heal 医治 | give 给 | show 展示 | send 寄 | bring 带来
"""
# verbs that depend on their object
_SPECIAL = """
eat soup eat_soup | wear hat wear_head | wear scarf wear_head | cut tree cut_tree | cut flower cut_stem
cut rope cut_stem
"""
# "是": predicate with 是 .. 的, all others with 很; "的": one syllable, yet with 的 before a noun
_ADJECTIVES = """
old 旧 | aged 老 | young 年轻 | new 新 | big 大 | small 小 | long 长 | short 短 | heavy 重 的 | expensive 昂贵
cheap 便宜
red 红色 是 | blue 蓝色 是 | green 绿色 是 | white 白色 是 | black 黑色 是 | yellow 黄色 是 | beautiful 漂亮
ugly 难看
happy 快乐 | sad 悲伤 | tired 疲惫 | hungry 饥饿 | rich 富有 | poor 贫穷 | famous 有名 | friendly 友好 | strong 强壮
weak 虚弱 | clean_quality 干净 | dirty 肮脏 | hot 热 | cold 冷 | fresh 新鲜 | sweet 甜 | empty 空 是 | full 满 是的
dangerous 危险
"""
_MANNERS = """
slowly 慢慢 | quickly 迅速 | quietly 安静 | loudly 大声 | carefully 仔细 | happily 高兴 | patiently 耐心
secretly 秘密
"""
_DETERMINERS = """
two 两 | three 三 | four 四 | five 五 | six 六 | seven 七 | eight 八 | nine 九 | ten 十
the 那 | a 一 | this 这 | these 这些 | many 许多 | some 一些 | every 每 | no 没有 | any 任何
"""
_NAMES = """
anna 安娜 | peter 彼得 | maria 玛丽亚 | thomas 托马斯 | elena 埃琳娜 | daniel 丹尼尔 | sara 萨拉 | david 大卫
laura 劳拉
martin 马丁 | julia 朱莉娅 | robert 罗伯特 | sofia 索菲亚 | leo 利奥 | nina 尼娜 | omar 奥马尔
weber 韦伯 | silva 席尔瓦 | kaya 卡亚 | sharma 夏尔马 | chen 陈 | smith 史密斯 | moreno 莫雷诺 | novak 诺瓦克
rossi 罗西
haddad 哈达德
berlin 柏林 | london 伦敦 | paris 巴黎 | madrid 马德里 | istanbul 伊斯坦布尔 | vienna 维也纳 | rome 罗马
moscow 莫斯科
beijing 北京 | new_delhi 新德里 | tokyo 东京 | cairo 开罗
"""
_TIMES = {
    "yesterday": "昨天/=/NOUN/wu", "tomorrow": "明天/=/NOUN/wu", "today": "今天/=/NOUN/wu", "now": "现在/=/NOUN/wu",
    "last_week": "上/=/DET/w 周/=/NOUN/u", "next_week": "下/=/DET/w 周/=/NOUN/u",
    "last_month": "上/=/DET/w 个/=/NOUN/- 月/=/NOUN/u", "next_month": "下/=/DET/w 个/=/NOUN/- 月/=/NOUN/u",
    "last_year": "去年/=/NOUN/wu", "next_year": "明年/=/NOUN/wu",
    "last_summer": "去年/=/NOUN/w 夏天/=/NOUN/u", "next_summer": "明年/=/NOUN/w 夏天/=/NOUN/u",
    "last_winter": "去年/=/NOUN/w 冬天/=/NOUN/u", "next_winter": "明年/=/NOUN/w 冬天/=/NOUN/u",
    "last_monday": "上/=/DET/w 周一/=/NOUN/u", "next_monday": "下/=/DET/w 周一/=/NOUN/u",
    "last_friday": "上/=/DET/w 周五/=/NOUN/u", "next_friday": "下/=/DET/w 周五/=/NOUN/u",
    "every_day": "每/=/DET/w 天/=/NOUN/u", "every_morning": "每天/=/NOUN/w 早上/=/NOUN/u",
}  # fmt: skip
LOCALIZERS = {"street": "上", "beach": "上", "island": "上", "harbor": ""}  # after locations; others 里
DIRECTION_LOCALIZERS = {"lake": "边", "river": "边", "street": "上"}  # after directions; others nothing


def _verb(form: str, state: str = "") -> _Verb:
    head, _, tail = form.replace("+", "-").partition("-")
    return _Verb(head, tail, "+" in form, bool(state))


class _Adjective(NamedTuple):
    """An adjective and its constructions."""

    form: str
    copula: bool  # 是红色的, not 很红色
    linked: bool  # 的 before a noun


def _adjective_entry(form: str, how: str = "") -> _Adjective:
    return _Adjective(form, "是" in how, "的" in how or len(form) > 1)


NOUN: dict[str, _Noun] = {concept: _Noun(form, "".join(classifier)) for concept, form, *classifier in cells(_NOUNS)}
VERB: dict[str, _Verb] = {concept: _verb(*parts) for concept, *parts in cells(_VERBS)}
SPECIAL: dict[tuple[str, str], str] = {(verb, noun): special for verb, noun, special in cells(_SPECIAL)}
ADJECTIVE: dict[str, _Adjective] = {concept: _adjective_entry(*parts) for concept, *parts in cells(_ADJECTIVES)}
MANNER_WORD = word_map(_MANNERS)
DETERMINER = word_map(_DETERMINERS)
NAME = word_map(_NAMES)
TIME = {concept: phrase_of_time(spec) for concept, spec in _TIMES.items()}
WORDS = citation_forms(
    {concept: noun.form for concept, noun in NOUN.items()},
    {concept: verb.head + verb.tail for concept, verb in VERB.items()},
    {concept: adjective.form for concept, adjective in ADJECTIVE.items()},
    MANNER_WORD,
    DETERMINER,
    NAME,
    times=TIME,
)


# ---- grammar ----


class Chinese(ToyLanguage):
    """[time ，] subject [time] not will with-companion at-place manner to-recipient verb 了 object; questions alike."""

    code: ClassVar[str] = "zh"
    name: ClassVar[str] = "Chinese"
    words: ClassVar[Mapping[str, str]] = WORDS

    def realize(self, scene: Scene) -> ToySentence:
        """Return the statement of a scene with its gold annotation."""
        return _unspaced(_clause(scene, ""), "。")

    def question(self, scene: Scene, role: str) -> ToySentence:
        """Return the question whose answer in the statement is `role`."""
        return _unspaced(_clause(scene, role), "\uff1f")


def _unspaced(tokens: list[Token], mark: str) -> ToySentence:
    for token in tokens:
        token.space = False
    return finish(tokens, mark)


def _clause(scene: Scene, wh_role: str) -> list[Token]:
    """Return a statement, or with `wh_role` a question with the question word in place (no movement)."""
    root, predicate = _state(scene, wh_role) if scene.predicate == "be" else _event(scene, wh_role)
    subject = _participant(scene.subject, "subject", "nsubj", root, wh_role)
    if scene.subject.determiner == "every" and wh_role != "subject":
        predicate.insert(0, _word("都", "ADV", (), "advmod", root))
    if wh_role == "time":
        when = _word("时候", "NOUN", QUESTION, "obl:tmod", root)
        return [*subject, _word("什么", "DET", QUESTION, "det", when), when, *predicate]
    time = _time(scene.time, root) if scene.time else []
    if scene.fronted and not wh_role:  # the comma keeps 上周, 五 (last week, five) from 上周五 (last Friday)
        return [*time, _word("\uff0c", "PUNCT", (), "punct", root), *subject, *predicate]
    return [*subject, *time, *predicate]


def _state(scene: Scene, wh_role: str) -> tuple[Token, list[Token]]:
    """Return root and predicate of "be": 很 and a quality, 是 and a category or a quality with 的, 在 and a place."""
    if scene.quality:
        root, tokens = _quality(scene)
    elif scene.category:
        root = _word(NOUN[scene.category].form, "NOUN", CATEGORY, "root")
        tokens = [_word("是", "AUX", COPULA, "cop", root), root]
    elif wh_role == "place" or scene.place is None:
        root = _word("在", "VERB", COPULA, "root")
        tokens = [root, _word("哪里", "PRON", QUESTION, "obj", root)]
    else:
        root = _word("在", "VERB", (*COPULA, *part("place").relation), "root")
        tokens = [root, *_phrase(scene.place, "place", "obj", root, after=_inside(scene.place))]
    return root, [*_helpers(scene, root, "不"), *tokens]


def _quality(scene: Scene) -> tuple[Token, list[Token]]:
    adjective = _adjective(scene.quality, scene.subject)
    root = _word(adjective.form, "ADJ", QUALITY, "root")
    if adjective.copula or scene.subject.determiner == "no":  # 没有 .. 新 would compare: not as new as
        return root, [_word("是", "AUX", COPULA, "cop", root), root, _word("的", "PART", (), "mark:rel", root)]
    return root, [root] if scene.negated else [_word("很", "ADV", (), "advmod", root), root]


def _event(scene: Scene, wh_role: str) -> tuple[Token, list[Token]]:
    verb = _lexeme(scene, wh_role)
    parted = scene.negated and scene.tense == "present" and verb.result  # 看不见 does the denying
    passed = _aspect(scene, verb) == "过"
    split = bool(verb.tail) and (parted or (passed and not verb.result))
    root = _word(verb.head if split else verb.head + verb.tail, "VERB", PREDICATE, "root")
    helpers = [] if parted else _helpers(scene, root, "不" if verb.state or scene.tense != "past" else "没有")
    inside = [_word("不", "ADV", NEGATION, "advmod", root)] if parted else _particle(scene, verb, root)
    tail = [_word(verb.tail, "VERB" if verb.result else "NOUN", PREDICATE, "compound", root)] if split else []
    return root, [*helpers, *_before(scene, root, wh_role), root, *inside, *tail, *_behind(scene, root, wh_role)]


def _lexeme(scene: Scene, wh_role: str) -> _Verb:
    thing = scene.object
    if thing and scene.predicate == "visit" and thing.person:
        return VERB["visit_person"]
    if thing is None or wh_role == "object":
        return VERB[scene.predicate]
    return VERB[SPECIAL.get((scene.predicate, thing.head), scene.predicate)]


def _aspect(scene: Scene, verb: _Verb) -> str:
    """Return 了 for past events, 过 with a subject with "no" (没有 .. 过); states and negation have neither."""
    if scene.tense != "past" or verb.state or scene.negated:
        return ""
    return "过" if scene.denied else "了"


def _particle(scene: Scene, verb: _Verb, root: Token) -> list[Token]:
    form = _aspect(scene, verb)
    return [_word(form, "AUX", TENSE, "aux", root)] if form else []


def _helpers(scene: Scene, root: Token, denial: str) -> list[Token]:
    """不 or 没有, and 会 for the future."""
    tokens = []
    if scene.negated:
        roles = (*NEGATION, *TENSE) if denial == "没有" else NEGATION
        tokens.append(_word(denial, "ADV", roles, "advmod", root))
    if scene.tense == "future":
        tokens.append(_word("会", "AUX", TENSE, "aux", root))
    return tokens


def _before(scene: Scene, root: Token, wh_role: str) -> list[Token]:
    """Return everything between negation and verb."""
    tokens: list[Token] = []
    if scene.companion:
        tokens += _participant(scene.companion, "companion", "obl", root, wh_role, "和")
        roles = QUESTION if wh_role == "companion" else part("companion").relation
        tokens.append(_word("一起", "ADV", roles, "advmod", root))
    if scene.place and scene.predicate != "arrive":
        tokens += _participant(scene.place, "place", "obl", root, wh_role, "在", _inside(scene.place))
    if scene.manner:
        manner = _word(MANNER_WORD[scene.manner], "ADV", MANNER, "advmod", root)
        tokens += [manner, _word("地", "PART", MANNER, "mark:adv", manner)]
    if scene.recipient and scene.predicate != "give":
        tokens += _participant(scene.recipient, "recipient", "obl", root, wh_role, "给")
    if scene.goal and scene.predicate == "travel":
        tokens += _participant(
            scene.goal, "goal", "obl", root, wh_role, "到", DIRECTION_LOCALIZERS.get(scene.goal.head, "")
        )
    if scene.object and scene.predicate == "call":
        tokens += _participant(_denied(scene.object, scene), "object", "obl", root, wh_role, "给")
    return tokens


def _behind(scene: Scene, root: Token, wh_role: str) -> list[Token]:
    """Return everything after the verb: the object, the recipient of 给, the direction."""
    tokens: list[Token] = []
    if scene.recipient and scene.predicate == "give":
        tokens += _participant(scene.recipient, "recipient", "iobj", root, wh_role)
    if scene.object and scene.predicate != "call":
        tokens += _participant(_denied(scene.object, scene), "object", "obj", root, wh_role)
    if scene.goal and scene.predicate != "travel":
        tokens += _participant(
            scene.goal, "goal", "obj", root, wh_role, after=DIRECTION_LOCALIZERS.get(scene.goal.head, "")
        )
    if scene.place and scene.predicate == "arrive":
        tokens += _participant(scene.place, "place", "obj", root, wh_role)
    return tokens


def _denied(thing: Phrase, scene: Scene) -> Phrase:
    """Replace "a" under negation by 任何 ("any", a determiner of Chinese only)."""
    return thing._replace(determiner="any") if scene.negated and thing.determiner == "a" else thing


def _inside(place: Phrase) -> str:
    return "" if place.head in TOWNS else LOCALIZERS.get(place.head, "里")


def _participant(
    phrase: Phrase, role: str, deprel: str, head: Token, wh_role: str, before: str = "", after: str = ""
) -> list[Token]:
    """Return a phrase with its adposition and localizer, or its question word."""
    if wh_role != role:
        return _phrase(phrase, role, deprel, head, before, after, counted=wh_role == role + ".count")
    form = "谁" if phrase.person else "哪里" if role in ("place", "goal") else "什么"
    word = _word(form, "PRON", QUESTION, deprel, head)
    return [_word(before, "ADP", QUESTION, "case", word), word] if before else [word]


def _phrase(
    phrase: Phrase, role: str, deprel: str, head: Token, before: str = "", after: str = "", *, counted: bool = False
) -> list[Token]:
    roles = part(role)
    if phrase.named:
        tokens = _name(phrase, role, deprel, head)
        noun = tokens[0]
    else:
        noun = _word(NOUN[phrase.head].form, "NOUN", roles.head, deprel, head)
        tokens = [noun]
        if phrase.quality:
            tokens = [*_attribute(phrase, roles.quality, noun), noun]
        if counted:
            tokens = [*_measured("几", "NUM", QUESTION, noun, phrase), *tokens]
        elif phrase.determiner and phrase.determiner != "the":
            tokens = [*_determiner(phrase, roles.determiner, noun), *tokens]
    if before:
        tokens.insert(0, _word(before, "ADP", roles.relation, "case", noun))
    if after:
        tokens.append(_word(after, "ADP", roles.relation, "case:loc", noun))
    return tokens


def _name(phrase: Phrase, role: str, deprel: str, head: Token) -> list[Token]:
    """Return a name; 安娜·韦伯 is three words, with the dot inside the name."""
    roles = part(role)
    kind = "LOC" if phrase.head in TOWNS else "PER"
    tokens = proper(NAME[phrase.head], roles.head, kind, deprel)
    tokens[0].head = head
    if not phrase.surname:
        return tokens
    dot = _word("·", "PUNCT", (), "punct", tokens[0])
    dot.name = f"I-{kind}"
    given, surname = join(tokens, proper(NAME[phrase.surname], roles.surname, kind, "flat"))
    return [given, dot, surname]


def _determiner(phrase: Phrase, roles: Roles, noun: Token) -> list[Token]:
    word = DETERMINER[phrase.determiner]
    if phrase.determiner in ("these", "many", "some", "no", "any"):
        return [_word(word, "DET", roles, "det", noun)]
    number = phrase.determiner in NUMERALS or phrase.determiner == "a"
    return _measured(word, "NUM" if number else "DET", roles, noun, phrase)


def _measured(word: str, upos: str, roles: Roles, noun: Token, phrase: Phrase) -> list[Token]:
    """Return a numeral or demonstrative with the noun's classifier as its dependent."""
    first = _word(word, upos, roles, "nummod" if upos == "NUM" else "det", noun)
    return [first, _word(NOUN[phrase.head].classifier, "NOUN", roles, "clf", first)]


def _attribute(phrase: Phrase, roles: Roles, noun: Token) -> list[Token]:
    """Return a quality before its noun. 的 also separates 小 from 小提琴."""
    adjective = _adjective(phrase.quality, phrase)
    token = _word(adjective.form, "ADJ", roles, "amod", noun)
    if adjective.linked or noun.form.startswith(adjective.form):
        return [token, _word("的", "PART", (), "mark:rel", token)]
    return [token]


def _adjective(quality: str, of: Phrase) -> _Adjective:
    """Return the adjective; living beings are 老 when old, not 旧."""
    living = of.person or bool(NOUNS[of.head].tags & {"person", "animal"})
    return ADJECTIVE["aged" if quality == "old" and living else quality]


def _time(time: str, root: Token) -> list[Token]:
    tokens = time_tokens(TIME[time], root)
    for token in tokens:
        if token.deprel == "dep":  # 去年 of 去年夏天, 个 of 上个月
            token.deprel = "clf" if token.form == "个" else "nmod:tmod"
            token.head = tokens[0] if token.form == "个" else token.head
    return tokens


def _word(form: str, upos: str, roles: Roles, deprel: str, head: Token | None = None) -> Token:
    return Token(form, form, upos, roles, deprel, head)
