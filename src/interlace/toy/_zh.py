"""Chinese words (simplified): classifiers of nouns, verbs that part, localizers of places. Nothing inflects."""

from __future__ import annotations

from typing import NamedTuple

from interlace.toy._concepts import CONCEPTS
from interlace.toy._tokens import phrase_of_time


class Noun(NamedTuple):
    form: str
    classifier: str  # "" for mass nouns


class Verb(NamedTuple):
    """tail: 见 of 看见, 觉 of 睡觉, written apart when something comes between; else one word with the head."""

    head: str
    tail: str
    result: bool  # the tail says what comes of it, so 不 goes between: 看不见
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
# what a verb becomes with some objects
_SPECIAL = """
eat soup eat_soup | wear hat wear_head | wear scarf wear_head | cut tree cut_tree | cut flower cut_stem
cut rope cut_stem
"""
# "是": said with 是 .. 的, all others with 很; "的": one syllable, yet with 的 before a noun
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
LOCALIZERS = {"street": "上", "beach": "上", "island": "上", "harbor": ""}  # behind a place where one is; others 里
BESIDE = {"lake": "边", "river": "边", "street": "上"}  # behind a place where one goes; others nothing


def _cells(table: str) -> list[list[str]]:
    return [cell.split() for line in table.strip().splitlines() for cell in line.split(" | ")]


def _plain(table: str) -> dict[str, str]:
    return dict(_cells(table))


def _verb(form: str, state: str = "") -> Verb:
    head, _, tail = form.replace("+", "-").partition("-")
    return Verb(head, tail, "+" in form, bool(state))


class Adjective(NamedTuple):
    form: str
    copula: bool  # 是红色的, not 很红色
    linked: bool  # 的 before a noun


def _adjective(form: str, how: str = "") -> Adjective:
    return Adjective(form, "是" in how, "的" in how or len(form) > 1)


NOUN: dict[str, Noun] = {concept: Noun(form, "".join(classifier)) for concept, form, *classifier in _cells(_NOUNS)}
VERB: dict[str, Verb] = {concept: _verb(*parts) for concept, *parts in _cells(_VERBS)}
SPECIAL: dict[tuple[str, str], str] = {(verb, noun): special for verb, noun, special in _cells(_SPECIAL)}
ADJECTIVE: dict[str, Adjective] = {concept: _adjective(*parts) for concept, *parts in _cells(_ADJECTIVES)}
MANNER_WORD = _plain(_MANNERS)
DETERMINER = _plain(_DETERMINERS)
NAME = _plain(_NAMES)
TIME = {concept: phrase_of_time(spec) for concept, spec in _TIMES.items()}
_ALL: dict[str, str] = (
    {concept: noun.form for concept, noun in NOUN.items()}
    | {concept: verb.head + verb.tail for concept, verb in VERB.items()}
    | {concept: adjective.form for concept, adjective in ADJECTIVE.items()}
    | MANNER_WORD
    | DETERMINER
    | NAME
    | {time: "".join(row[0] for row in rows) for time, rows in TIME.items()}
)
WORDS: dict[str, str] = {concept: _ALL[concept] for concept in CONCEPTS}
