from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from recall_integrations.text import stem
from recall_integrations.text.by_language import readable
from tests.rows import each_row


@each_row(
    ("owned", "word"),
    [
        ("سيارتي", "السيارة"),
        ("سياراتي", "سيارة"),
        ("وسيارتي", "السيارة"),
        ("غرفتي", "غرفة"),
        ("صديقتي", "الصديقة"),
        ("مدرستها", "والمدرسة"),
        ("قطتي", "القطة"),
        ("شقتك", "شقة"),
        ("لغته", "باللغة"),
        ("قصتنا", "القصة"),
        ("سنتي", "للسنة"),
        ("حياتي", "الحياة"),
        ("والدتي", "الوالدة"),
        ("كلماتي", "كلمات"),
        ("بيتي", "والبيت"),
        ("وقته", "الوقت"),
        ("أختي", "الأخت"),
        ("سيارات", "السيارات"),
    ],
)
def test_what_is_mine_is_the_thing(owned: str, word: str) -> None:
    assert stem(owned, "ar") == stem(word, "ar")


@each_row(
    ("one", "other"),
    [
        ("بنتي", "بن"),  # my daughter, coffee beans
        ("بيتي", "بيئة"),  # my house, surroundings
        ("قطتي", "قطار"),  # my cat, a train
        ("سنتي", "سن"),  # my year, a tooth
        ("قصتي", "قص"),  # my story, to cut
        ("شقتي", "شوق"),  # my flat, longing
        ("عمتي", "عم"),  # my aunt, an uncle
        ("جدتي", "جد"),  # my grandmother, a grandfather
        ("أختي", "أخ"),  # my sister, a brother
        ("موتي", "مية"),  # my death, a hundred
        ("زيتي", "زي"),  # my oil, a dress
        ("سيارتي", "سيرتي"),  # my car, my biography
        ("غرفتي", "غراف"),  # my room, a graph
        ("يأتي", "ية"),  # it comes
        ("صوتك", "صو"),  # your voice
    ],
)
def test_words_of_their_own_stay_apart(one: str, other: str) -> None:
    assert stem(one, "ar") != stem(other, "ar")


@each_row("word", ["البيت", "بيتي", "يأتي", "والد", "والدي", "كنت", "القاهرة", "ت", "ال", "تي", "house"])
def test_other_words_stay_as_they_are(word: str) -> None:
    assert readable(word) == word


@given(st.text(alphabet="والبكلتةيهنماسحق\u0640", max_size=12))
def test_something_is_left_of_every_word(word: str) -> None:
    assert bool(readable(word)) is bool(word)
    assert len(readable(word)) <= len(word) + 1
