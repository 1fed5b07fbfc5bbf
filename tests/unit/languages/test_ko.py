"""What is read in Korean."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.rows import each_row

SENTENCES: dict[str, list[tuple[str, Any]]] = {
    "negated": [
        ("민수 빼고 결혼식에 누가 왔어?", ["민수"]),
        ("파이썬을 제외하고 뭘 공부했지?", ["파이썬"]),
        ("회의 말고 이번 주에 뭐가 있어?", ["회의"]),
        ("우유 없이 만드는 디저트는?", ["우유"]),
        ("매운 음식을 빼고 추천한 메뉴는?", ["매운 음식"]),
        ("Python 외에 무엇을 배웠어?", ["Python"]),
        ("업무와 관련 없는 메모를 보여 줘", ["업무"]),
        ("엄마와 아빠 빼고 누가 저녁에 와?", ["엄마", "아빠"]),
        ("서울이 아니라 부산 날씨는?", ["서울"]),
        ("지난주에 지훈 제외하고 누구를 만났어?", ["지훈"]),
        ("'누가 고기를 안 먹어?'", []),
        ("누가 고기를 먹지 않아?", []),
        ("왜 나는 안 갔어?", []),
        ("민수 빼고 아무도 모르지?", []),
        ("문제 없이 끝난 일은?", []),
        ("그것 말고 뭘 샀어?", []),
        ("울지 말고 뭐라고 했어?", []),
        ("커피 없이 못 사는 사람은 누구야?", []),
    ],
    "role": [
        ("내가 너한테 알레르기에 대해 뭐라고 말했어?", "user"),
        ("네가 추천한 호텔이 뭐야?", "assistant"),
        ("나한테 추천해 준 책이 뭐였지?", "assistant"),
        ("어시스턴트가 계약에 대해 뭐라고 설명했어?", "assistant"),
        ("너의 조언이 뭐였지?", "assistant"),
        ("내가 언제 차를 샀어?", "user"),
        ("내 강아지 이름이 뭐야?", "user"),
        ("어제 무슨 얘기를 했지?", None),
        ("프리야는 어디에서 일해?", None),
    ],
    "session": [
        ("우리 세 번째 대화에서 무슨 얘기를 했지?", (3,)),
        ("우리의 첫 번째 대화에서 뭘 추천했어?", (1,)),
        ("마지막 대화를 요약해 줘", (-1,)),
        ("지난번에 우리가 뭘 얘기했지?", (-1,)),
        ("세션 12에서 내가 뭐라고 했어?", (12,)),
        ("우리 대화 처음에 뭐라고 했지?", "beginning"),
        ("의사가 세 번째 상담에서 뭐라고 했어?", None),
        ("지난번에 서울에 간 게 언제야?", None),
    ],
    "person": [
        ("나는 어디서 태어났어?", "나는"),
        ("내 의사는 누구야?", "내"),
        ("우리 할머니는 어디 살아?", "우리"),
        ("기차는 몇 시에 와?", None),
    ],
    "type": [
        ("결혼식이 언제였지?", "event"),
        ("내 취향은 뭐야?", "preference"),
        ("제일 좋아하는 영화가 뭐야?", "preference"),
        ("도커를 어떻게 설치해?", "skill"),
        ("이번 주를 요약해 줘", "summary"),
        ("안나의 강아지 이름은?", None),
    ],
}


@each_row(("kind", "text", "expected"), [(k, *s) for k, rows in SENTENCES.items() for s in rows])
def test_it_reads(read: Callable[[str, str, str], Any], kind: str, text: str, expected: object) -> None:
    assert read("ko", kind, text) == expected
