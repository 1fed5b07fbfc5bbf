"""What is read in Japanese."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.rows import each_row

SENTENCES: dict[str, list[tuple[str, Any]]] = {
    "negated": [
        ("田中さん以外で結婚式に来たのは誰？", ["田中さん"]),
        ("Python以外の言語は何を勉強した？", ["Python"]),
        ("会議を除いて今週の予定は？", ["会議"]),
        ("牛乳を使わないデザートは？", ["牛乳"]),
        ("卵を含まないレシピを見せて", ["卵"]),
        ("仕事とは関係のないメモは？", ["仕事"]),
        ("肉抜きの料理を教えて", ["肉"]),
        ("東京ではなく大阪の天気は？", ["東京"]),
        ("「こころ」以外に読んだ本は？", ["こころ"]),
        ("New York以外の旅行について教えて", ["New York"]),
        ("請求書を除外して教えて", ["請求書"]),
        ("誰が肉を食べない？", []),
        ("なぜ行かなかったの？", []),
        ("田中さん以外誰も知らないよね？", []),
        ("問題なしの項目はどれ？", []),
        ("Pythonだけではなく、Goも勉強した？", []),
        ("ファイルを削除したのはいつ？", []),
        ("それ以外に何を買った？", []),
    ],
    "role": [
        ("私はあなたにアレルギーについて何を言いましたか？", "user"),
        ("どのホテルをおすすめしてくれましたか？", "assistant"),
        ("あなたは何を提案しましたか？", "assistant"),
        ("アシスタントは契約について何と言いましたか？", "assistant"),
        ("あなたのアドバイスは何でしたか？", "assistant"),
        ("先生が勧めてくれた本は？", None),
        ("私の犬の名前は？", "user"),
        ("昨日は何の話でしたか？", None),
        ("プリヤはどこで働いていますか？", None),
    ],
    "session": [
        ("私たちの三回目の会話で何を話しましたか？", (3,)),
        ("最初のチャットで何を話した？", (1,)),
        ("前回の会話を要約して", (-1,)),
        ("前回は何を話しましたか？", (-1,)),
        ("セッション12で何を言った？", (12,)),
        ("第3回の対話の内容は？", (3,)),
        ("この会話の最初に何を言った？", "beginning"),
        ("先生は三回目のセッションで何を言いましたか？", None),
        ("前回東京に行ったのはいつ？", None),
    ],
    "person": [
        ("私はどこで生まれた？", "私"),
        ("僕の車は何色？", "僕"),
        ("私たちの祖母はどこに住んでいる？", "私たち"),
        ("電車は何時に着く？", None),
    ],
    "type": [
        ("結婚式はいつでしたか？", "event"),
        ("私の好みは何？", "preference"),
        ("一番好きな映画は何？", "preference"),
        ("Dockerの使い方は？", "skill"),
        ("今週の要約をください", "summary"),
        ("アンナの犬の名前は？", None),
    ],
}


@each_row(("kind", "text", "expected"), [(k, *s) for k, rows in SENTENCES.items() for s in rows])
def test_it_reads(read: Callable[[str, str, str], Any], kind: str, text: str, expected: object) -> None:
    assert read("ja", kind, text) == expected
