"""Chinese: unspaced, no inflection; classifiers, 了 and 会 for tense, 不 and 没有, places between 在 and 里.

A noun without a determiner is "the" one, 一 with a classifier is "a". Companions, places and manners precede the
verb. The gold words are small: classifiers, particles and localizers are words of their own.
"""

from typing import NamedTuple

from interlace.toy.concepts import NOUNS, NUMERALS
from interlace.toy.languages import ToyLanguage
from interlace.toy.scenes import Phrase
from interlace.toy.sentences import Clause, Token, citation_forms, entries, head_of, word_map

# ---- words ----


class _Noun(NamedTuple):
    form: str
    classifier: str = ""  # none for mass nouns


class _Verb(NamedTuple):
    """tail: 见 of 看见, 觉 of 睡觉, separated from the head by inserted words, else one word with it."""

    head: str
    tail: str
    result: bool  # the tail is a result, so 不 is inserted: 看不见
    state: bool  # takes neither 了 nor 没有: 爱, 需要


class _Adjective(NamedTuple):
    """constructions: 是 if it is a predicate with 是 .. 的, others with 很; 的 if it takes 的 despite one syllable."""

    form: str
    constructions: str = ""


def _verb(form: str, state: str = "") -> _Verb:
    head, _, tail = form.replace("+", "-").partition("-")
    return _Verb(head, tail, "+" in form, bool(state))


_NOUNS = """
doctor 医生 位 | nurse 护士 名 | patient 病人 名 | dentist 牙医 名 | teacher 教师 位 | student 大学生 名
pupil 小学生 名 | professor 教授 位 | scientist 科学家 位 | writer 作家 位 | journalist 记者 名 | secretary 秘书 名
chef 厨师 名 | waiter 服务员 名 | baker 面包师 名 | farmer 农民 名 | gardener 园丁 名 | shepherd 牧羊人 名
fisherman 渔夫 名 | sailor 水手 名 | captain 船长 名 | pilot 飞行员 名 | driver 司机 名 | tourist 游客 名
musician 音乐家 位 | singer 歌手 名 | dancer 舞蹈家 位 | painter 画家 位 | actor 演员 名 | photographer 摄影师 名
engineer 工程师 名 | mechanic 修理工 名 | carpenter 木匠 名 | worker 工人 名 | policeman 警察 名 | judge 法官 位
lawyer 律师 位 | thief 小偷 个 | merchant 商人 名 | customer 顾客 位 | neighbor 邻居 位 | guest 客人 位
mother 母亲 位 | father 父亲 位 | grandmother 祖母 位 | grandfather 祖父 位 | brother 哥哥 个 | sister 姐姐 个
boy 男孩 个 | girl 女孩 个 | man 男人 个 | woman 女人 个 | king 国王 位 | queen 女王 位 | soldier 士兵 名
person 人 个 | animal 动物 只
dog 狗 只 | cat 猫 只 | horse 马 匹 | cow 奶牛 头 | sheep 绵羊 只 | goat 山羊 只 | pig 猪 头 | hen 母鸡 只
duck 鸭子 只 | mouse 老鼠 只 | rabbit 兔子 只 | wolf 狼 只 | bear 熊 头 | lion 狮子 头 | elephant 大象 头
monkey 猴子 只 | snake 蛇 条 | frog 青蛙 只 | bee 蜜蜂 只 | eagle 老鹰 只 | fish 鱼 条
apple 苹果 个 | banana 香蕉 根 | pear 梨 个 | potato 土豆 个 | tomato 番茄 个 | carrot 胡萝卜 根 | egg 鸡蛋 个
cake 蛋糕 个 | bread 面包 | cheese 奶酪 | rice 米饭 | meat 肉 | soup 汤 | honey 蜂蜜 | chocolate 巧克力 | water 水
milk 牛奶 | tea 茶 | coffee 咖啡 | juice 果汁 | wine 葡萄酒
book 书 本 | letter 信 封 | newspaper 报纸 份 | poem 诗 首 | report 报告 份 | map 地图 张 | message 消息 条
hammer 锤子 把 | knife 刀 把 | axe 斧头 把 | saw 锯子 把 | rope 绳子 根 | bucket 水桶 个 | ladder 梯子 架
key 钥匙 把 | lamp 灯 盏 | plate 盘子 个 | cup 杯子 个 | spoon 勺子 把 | bottle 瓶子 个 | hat 帽子 顶 | coat 外套 件
shirt 衬衫 件 | shoe 鞋子 只 | dress 连衣裙 条 | scarf 围巾 条 | table 桌子 张 | chair 椅子 把 | bed 床 张
cupboard 柜子 个 | door 门 扇 | window 窗户 扇 | mirror 镜子 面 | car 汽车 辆 | bicycle 自行车 辆 | boat 船 艘
truck 卡车 辆 | bus 公交车 辆 | tractor 拖拉机 台 | guitar 吉他 把 | violin 小提琴 把 | piano 钢琴 架 | flute 笛子 支
drum 鼓 面 | trumpet 小号 把 | computer 电脑 台 | telephone 电话机 部 | camera 照相机 台 | radio 收音机 台
clock 时钟 座 | ball 球 个 | doll 洋娃娃 个 | gift 礼物 份 | picture 图画 幅 | statue 雕像 座 | stone 石头 块
tree 树 棵 | flower 花 朵 | bag 袋子 个 | box 箱子 个 | umbrella 雨伞 把 | basket 篮子 个 | ring 戒指 枚
coin 硬币 枚 | ticket 票 张 | medicine 药 | bandage 绷带 条 | tool 工具 件 | vehicle 交通工具 个 | instrument 乐器 件
hospital 医院 家 | pharmacy 药店 家 | school 学校 所 | university 大学 所 | library 图书馆 座 | office 办公室 间
kitchen 厨房 间 | restaurant 餐馆 家 | bakery 面包店 家 | market 市场 个 | shop 商店 家 | farm 农场 个 | field 田地 块
garden 花园 座 | forest 森林 片 | park 公园 座 | lake 湖 个 | river 河 条 | beach 海滩 片 | harbor 港口 个
island 海岛 座 | station 车站 个 | airport 机场 座 | hotel 酒店 家 | museum 博物馆 座 | theater 剧院 家
workshop 作坊 家 | factory 工厂 家 | church 教堂 座 | street 街道 条 | castle 城堡 座 | house 房子 栋
village 村庄 个
"""
NOUN = entries(_Noun, _NOUNS)
# "+" a result, which 不 parts from the verb; "-" verb and object, parted by 过; "state"
_VERBS = """
sleep 睡-觉 | work 工作 | laugh 笑 | cry 哭 | dance 跳-舞 | sing 唱-歌 | wait 等待 | swim 游-泳 | arrive 到达
jump 跳 | go 去 | travel 旅行 | return 回到 | run 跑到 | eat 吃 | eat_soup 喝 | drink 喝 | cook 煮 | bake 烤 | buy 买
sell 卖 | read 读 | write 写 | see 看+见 | find 找+到 | lose 弄丢 | seek 寻找 | help 帮助 | visit 参观
visit_person 拜访 | greet 问候 | call 打-电话 | invite 邀请 | love 爱 state | know 熟悉 state | need 需要 state
follow 跟随 | photograph 拍摄 | paint 画 | repair 修理 | clean 清洁 | wash 洗 | open 打开 | close 关上 | wear 穿
wear_head 戴 | lift 举起 | push 推 | drive 驾驶 | play 演奏 | hear 听+见 | build 造 | cut 切 | cut_tree 砍
cut_stem 剪 | plant 种 | feed 喂 | catch 捉 | steal 偷 | hide 藏 | forget 忘记 | heal 医治 | give 给 | show 展示
send 寄 | bring 带来
"""
VERB = entries(_verb, _VERBS)
SPECIAL = word_map("""
eat+soup eat_soup | wear+hat wear_head | wear+scarf wear_head | cut+tree cut_tree | cut+flower cut_stem
cut+rope cut_stem
""")  # verbs that depend on their object
_ADJECTIVES = """
old 旧 | aged 老 | young 年轻 | new 新 | big 大 | small 小 | long 长 | short 短 | heavy 重 的 | expensive 昂贵
cheap 便宜 | red 红色 是 | blue 蓝色 是 | green 绿色 是 | white 白色 是 | black 黑色 是 | yellow 黄色 是
beautiful 漂亮 | ugly 难看 | happy 快乐 | sad 悲伤 | tired 疲惫 | hungry 饥饿 | rich 富有 | poor 贫穷 | famous 有名
friendly 友好 | strong 强壮 | weak 虚弱 | clean_quality 干净 | dirty 肮脏 | hot 热 | cold 冷 | fresh 新鲜 | sweet 甜
empty 空 是 | full 满 是的 | dangerous 危险
"""
ADJECTIVE = entries(_Adjective, _ADJECTIVES)
WORD = word_map("""
slowly 慢慢 | quickly 迅速 | quietly 安静 | loudly 大声 | carefully 仔细 | happily 高兴 | patiently 耐心
secretly 秘密
two 两 | three 三 | four 四 | five 五 | six 六 | seven 七 | eight 八 | nine 九 | ten 十
the 那 | a 一 | this 这 | these 这些 | many 许多 | some 一些 | every 每 | no 没有 | any 任何
anna 安娜 | peter 彼得 | maria 玛丽亚 | thomas 托马斯 | elena 埃琳娜 | daniel 丹尼尔 | sara 萨拉 | david 大卫
laura 劳拉 | martin 马丁 | julia 朱莉娅 | robert 罗伯特 | sofia 索菲亚 | leo 利奥 | nina 尼娜 | omar 奥马尔
weber 韦伯 | silva 席尔瓦 | kaya 卡亚 | sharma 夏尔马 | chen 陈 | smith 史密斯 | moreno 莫雷诺 | novak 诺瓦克
rossi 罗西 | haddad 哈达德
berlin 柏林 | london 伦敦 | paris 巴黎 | madrid 马德里 | istanbul 伊斯坦布尔 | vienna 维也纳 | rome 罗马
moscow 莫斯科 | beijing 北京 | new_delhi 新德里 | tokyo 东京 | cairo 开罗
""")
TIME = word_map("""
yesterday 昨天/NOUN/wu | tomorrow 明天/NOUN/wu | today 今天/NOUN/wu | now 现在/NOUN/wu
last_week 上/DET/w 周/NOUN/u | next_week 下/DET/w 周/NOUN/u
last_month 上/DET/w 个/NOUN/- 月/NOUN/u | next_month 下/DET/w 个/NOUN/- 月/NOUN/u
last_year 去年/NOUN/wu | next_year 明年/NOUN/wu | last_summer 去年/NOUN/w 夏天/NOUN/u
next_summer 明年/NOUN/w 夏天/NOUN/u | last_winter 去年/NOUN/w 冬天/NOUN/u | next_winter 明年/NOUN/w 冬天/NOUN/u
last_monday 上/DET/w 周一/NOUN/u | next_monday 下/DET/w 周一/NOUN/u
last_friday 上/DET/w 周五/NOUN/u | next_friday 下/DET/w 周五/NOUN/u
every_day 每/DET/w 天/NOUN/u | every_morning 每天/NOUN/w 早上/NOUN/u
""")
# after locations; others 里
LOCALIZERS = {"street": "上", "beach": "上", "island": "上", "harbor": ""}
DIRECTION_LOCALIZERS = {"lake": "边", "river": "边", "street": "上"}  # others nothing
WORDS = citation_forms(
    {concept: noun.form for concept, noun in NOUN.items()},
    {concept: verb.head + verb.tail for concept, verb in VERB.items()},
    {concept: adjective.form for concept, adjective in ADJECTIVE.items()},
    WORD,
    times=TIME,
)


# ---- grammar ----


# participants before and after the verb
_ORDER = ("companion place manner recipient", "object goal")
_ORDERS = {
    "give": ("companion place manner", "recipient object"),
    "call": ("companion place manner object", ""),
    "arrive": ("companion manner", "place"),
    "travel": ("companion place manner goal", ""),
}


class _Clause(Clause):
    """Adpositions are a preposition and, after a blank, a localizer."""

    times = TIME
    moves = False
    adpositions = {"companion": "和"}
    special_verbs = SPECIAL

    def tokens(self) -> list[Token]:
        scene = self.scene
        if scene.predicate == "be":
            predicate = self.state()
        else:
            predicate = self.event()
        subject = self.parts("subject")
        time = self.parts("time")
        if scene.subject.determiner == "every" and self.wh_role != "subject":
            predicate.insert(0, Token("都", "ADV", "", "advmod"))
        if scene.fronted and not self.wh_role:
            # the comma keeps 上周, 五 (last week, five) from 上周五 (last Friday)
            return [*time, Token("\uff0c", "PUNCT", "", "punct"), *subject, *predicate]
        return [*subject, *time, *predicate]

    def state(self) -> list[Token]:
        """Return the predicate of "be": 很 and a quality, 是 and a category or a quality with 的, 在 and a place."""
        scene = self.scene
        predicate: list[Token] = []
        if scene.place:
            roles = "copula" if self.wh_role == "place" else "copula place.relation"
            self.root = Token("在", "VERB", roles)
            predicate = [self.root, *self.parts("place")]
        elif scene.category:
            self.root = Token(self.words[scene.category], "NOUN", "category")
            predicate = [Token("是", "AUX", "copula", "cop"), self.root]
        else:
            adjective = _adjective(scene.quality, scene.subject)
            self.root = Token(adjective.form, "ADJ", "quality")
            if "是" in adjective.constructions or scene.subject.determiner == "no":
                # 没有 .. 新: not as new as
                particle = Token("的", "PART", "", "mark:rel")
                predicate = [Token("是", "AUX", "copula", "cop"), self.root, particle]
            elif scene.negated:
                predicate = [self.root]
            else:
                predicate = [Token("很", "ADV", "", "advmod"), self.root]
        return self.helpers("不") + predicate

    def event(self) -> list[Token]:
        scene = self.scene
        verb = VERB[self.verb_concept()]
        parted = scene.negated and scene.tense == "present" and verb.result  # 看不见 is a denial
        aspect = ""  # of past events; with a subject with "no", 没有 .. 过; states and negation have none
        if scene.tense == "past" and not verb.state and not scene.negated:
            aspect = "过" if scene.denied else "了"
        split = bool(verb.tail) and (parted or (aspect == "过" and not verb.result))
        form = verb.head if split else verb.head + verb.tail
        self.root = Token(form, "VERB", "predicate")
        before, after = _ORDERS.get(scene.predicate, _ORDER)
        tokens = [*self.parts(before), self.root]
        if parted:
            tokens.append(Token("不", "ADV", "negation", "advmod"))
        else:
            denial = "不" if verb.state or scene.tense != "past" else "没有"
            tokens = self.helpers(denial) + tokens
        if aspect:
            tokens.append(Token(aspect, "AUX", "tense", "aux"))
        if split:
            upos = "VERB" if verb.result else "NOUN"
            tokens.append(Token(verb.tail, upos, "predicate", "compound"))
        return tokens + self.parts(after)

    def helpers(self, denial: str) -> list[Token]:
        """Return 不 or 没有, and 会 for the future."""
        tokens = []
        if self.scene.negated:
            roles = "negation tense" if denial == "没有" else "negation"
            tokens.append(Token(denial, "ADV", roles, "advmod"))
        if self.scene.tense == "future":
            tokens.append(Token("会", "AUX", "tense", "aux"))
        return tokens

    def adposition(self, role: str, phrase: Phrase) -> str:
        predicate = self.scene.predicate
        if role == "goal":
            preposition = "到" if predicate == "travel" else ""
            return f"{preposition} {DIRECTION_LOCALIZERS.get(phrase.head, '')}"
        if role == "place" and predicate != "arrive":
            preposition = "" if predicate == "be" else "在"
            localizer = "" if phrase.named else LOCALIZERS.get(phrase.head, "里")
            return f"{preposition} {localizer}"
        if (role == "recipient" and predicate != "give") or (role, predicate) == ("object", "call"):
            return "给"
        return super().adposition(role, phrase)

    def relation(self, role: str, adposition: str) -> str:
        if adposition.partition(" ")[0]:
            return "obl"
        return self.relations.get(role, "obj")

    def realized(self, role: str) -> list[Token]:
        tokens = super().realized(role)
        if role == "companion":
            roles = "question" if self.wh_role == role else "companion.relation"
            tokens.append(Token("一起", "ADV", roles, "advmod"))
        return tokens

    def manner(self) -> list[Token]:
        tokens = super().manner()
        return [*tokens, Token("地", "PART", "manner", "mark:adv", tokens[0])]

    def time(self) -> list[Token]:
        tokens = super().time()
        for token in tokens:
            if token.form == "个":  # of 上个月
                token.deprel = "clf"
                token.head = tokens[0]
            elif token.deprel == "dep":  # 去年 of 去年夏天
                token.deprel = "nmod:tmod"
        return tokens

    def when(self) -> list[Token]:
        noun = Token("时候", "NOUN", "question", "obl:tmod")
        return [Token("什么", "DET", "question", "det", noun), noun]

    def question_words(self, phrase: Phrase, role: str, adposition: str) -> list[Token]:  # noqa: ARG002
        if phrase.person:
            form = "谁"
        elif role in ("place", "goal"):
            form = "哪里"
        else:
            form = "什么"
        return [Token(form, "PRON", "question")]

    def phrase(self, phrase: Phrase, role: str, adposition: str) -> list[Token]:  # noqa: ARG002
        """Return determiner (or 几) with a classifier, quality, noun."""
        if phrase.named:
            tokens = self.named(phrase, role)
            if phrase.surname:  # 安娜·韦伯 is three words, with the dot inside the name
                dot = Token("·", "PUNCT", "", "punct", tokens[0], name=tokens[-1].name)
                tokens.insert(-1, dot)
            return tokens
        noun = Token(NOUN[phrase.head].form, "NOUN", ".head")
        tokens = [noun]
        if phrase.quality:
            form, constructions = _adjective(phrase.quality, phrase)
            quality = Token(form, "ADJ", ".quality", "amod", noun)
            tokens = [quality, noun]
            if "的" in constructions or len(form) > 1 or noun.form.startswith(form):  # 小的小提琴
                tokens.insert(1, Token("的", "PART", "", "mark:rel", quality))
        determiner = phrase.determiner
        if role == "object" and self.scene.negated and determiner == "a":
            determiner = "any"  # 任何, of Chinese only
        roles = ".determiner"
        if self.wh_role == f"{role}.count":
            roles = "question"
        elif determiner in ("", "the"):
            return tokens
        classifier = NOUN[phrase.head].classifier
        return _determiner(determiner, roles, noun, classifier) + tokens

    def with_adposition(self, tokens: list[Token], adposition: str) -> list[Token]:
        """Return a phrase with its preposition, and without a question its localizer."""
        head = head_of(tokens)
        preposition, _, localizer = adposition.partition(" ")
        if localizer and head.roles != "question":
            tokens.append(Token(localizer, "ADP", ".relation", "case:loc", head))
        if preposition:
            return super().with_adposition(tokens, preposition)
        return tokens


def _determiner(determiner: str, roles: str, noun: Token, classifier: str) -> list[Token]:
    """Return a determiner; numerals and demonstratives have the noun's classifier as their dependent."""
    if determiner in ("these", "many", "some", "no", "any"):
        return [Token(WORD[determiner], "DET", roles, "det", noun)]
    if roles == "question":
        token = Token("几", "NUM", roles, "nummod", noun)
    elif determiner in (*NUMERALS, "a"):
        token = Token(WORD[determiner], "NUM", roles, "nummod", noun)
    else:
        token = Token(WORD[determiner], "DET", roles, "det", noun)
    return [token, Token(classifier, "NOUN", roles, "clf", token)]


def _adjective(quality: str, of: Phrase) -> _Adjective:
    """Return the adjective; living beings are 老 when old, not 旧."""
    living = of.person or bool(NOUNS[of.head].tags & {"person", "animal"})
    return ADJECTIVE["aged" if quality == "old" and living else quality]


class Chinese(ToyLanguage):
    """[time ，] subject [time] not will with-companion at-place manner to-recipient verb 了 object; questions alike."""

    name = "Chinese"
    words = WORDS
    clause = _Clause
    stop = "。"
    question_mark = "\uff1f"

    def spelled(self, tokens: list[Token]) -> list[Token]:
        """Write words without blanks."""
        for token in tokens:
            token.space = False
        return tokens
