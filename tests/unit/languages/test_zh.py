"""What is read in Chinese."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

SENTENCES: dict[str, list[tuple[str, Any]]] = {
    "negated": [
        ("除了小李，谁去了婚礼？", ["小李"]),
        ("除了小李以外，谁去了婚礼？", ["小李"]),
        ("婚礼上有小李以外的同事吗？", ["小李"]),
        ("推荐几道菜，不要辣椒", ["辣椒"]),
        ("哪些甜点不含牛奶？", ["牛奶"]),
        ("除了 Python 之外我还学过什么？", ["Python"]),
        ("我问的不是北京，而是上海的天气", ["北京"]),
        ("跟工作无关的笔记有哪些？", ["工作"]),
        ("请忽略账单。", ["账单"]),
        ("这个月的活动，不包括聚餐", ["聚餐"]),
        ("除了爸爸和妈妈，谁会来吃饭？", ["爸爸", "妈妈"]),
        ("除了《红楼梦》，我还读过什么？", ["红楼梦"]),
        ("有哪些不放糖的饮料？", ["糖"]),
        ("他今天不带孩子吗？", []),
        ("医生说，不要吃辣，是什么时候？", []),
        ("谁不吃肉？", []),
        ("为什么我没去？", []),
        ("除了小李没有人知道，是吗？", []),
        ("我不仅会Python，还会Go吗？", []),
        ("我什么时候删除了文件？", []),
        ("他为什么不告诉我？", []),
        ("我特别喜欢什么？", []),
        ("医生说我不要再吃什么？", []),
        ("我不能没有什么？", []),
    ],
    "role": [
        ("我跟你说过我对什么过敏吗？", "user"),
        ("你推荐了哪家酒店？", "assistant"),
        ("你给我推荐过什么书？", "assistant"),
        ("关于租房，助手说了什么？", "assistant"),
        ("你的建议是什么？", "assistant"),
        ("我什么时候买的车？", "user"),
        ("我的狗叫什么名字？", "user"),
        ("我们昨天聊了什么？", None),
        ("Priya在哪里工作？", None),
    ],
    "session": [
        ("我们第三次谈话聊了什么？", (3,)),
        ("我们的第一次对话说了什么？", (1,)),
        ("总结一下我们上次聊天", (-1,)),
        ("上次我们聊到哪里了？", (-1,)),
        ("会话16里我说了什么？", (16,)),
        ("我们第 3 次对话的内容是什么？", (3,)),
        ("我的心理咨询师在第三次谈话里说了什么？", None),
        ("我上次去北京是什么时候？", None),
        ("第三次世界大战是什么？", None),
    ],
    "person": [
        ("我在哪里出生？", "我"),
        ("我们的奶奶住在哪里？", "我们"),
        ("告诉我小李住在哪里", None),
        ("火车几点到？", None),
    ],
    "type": [
        ("婚礼是什么时候？", "event"),
        ("我的偏好是什么？", "preference"),
        ("我最喜欢的电影是什么？", "preference"),
        ("怎么安装Docker？", "skill"),
        ("给我一个这周的总结", "summary"),
        ("小李的狗叫什么？", None),
    ],
}


@pytest.mark.parametrize(("kind", "text", "expected"), [(k, *s) for k, rows in SENTENCES.items() for s in rows])
def test_it_reads(read: Callable[[str, str, str], Any], kind: str, text: str, expected: object) -> None:
    assert read("zh", kind, text) == expected
