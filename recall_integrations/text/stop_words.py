"""Stop words of languages other than English: the Snowball lists, as NLTK keeps them and `llama-index-core` ships them.

Words on them that a memory may be about are named in `CONTENT`. Larger lists were measured too (docs/languages.md).
"""

from __future__ import annotations

import functools
import importlib.util
import logging
from collections.abc import Mapping
from pathlib import Path

_ARABIC = {
    "months": "آب آذار أبريل أغسطس أفريل أكتوبر أوت أيار أيلول تشرين تموز جانفي جوان جويلية حزيران ديسمبر سبتمبر شباط"
    " فبراير فيفري كانون مارس مايو ماي نوفمبر نيسان يناير يوليو يونيو",
    "days and their parts": "أربعاء ثلاثاء جمعة خميس سبت صباح مساء ضحوة غداة أمس غدا آناء",
    "numbers": "إحدى اثنا اثنان اثني اثنين ثلاث ثلاثة أربع أربعة خمس خمسة ست ستة سبع سبعة ثمان ثماني ثمانية تسع تسعة "
    "عشر عشرة عشرون عشرين ثلاثون ثلاثين اربعون اربعين خمسون خمسين ستون ستين سبعون سبعين ثمانون ثمانين تسعون تسعين مئة "
    "مائة مئتان ثلاثمئة ثلاثمائة أربعمئة أربعمائة خمسمئة خمسمائة ستمئة ستمائة سبعمئة سبعمائة ثمانمئة ثمنمئة تسعمئة "
    "تسعمائة ألف ألفى ثان ثاني ثالث رابع خامس سادس سابع ثامن تاسع عاشر حادي",
    "currencies": "درهم دولار دينار ريال سنتيم شيكل فلس قرش ليرة مليم هللة يورو يوان ين",
    "letters of the alphabet by name": "باء تاء ثاء جيم حاء خاء دال ذال راء زاي سين شين صاد ضاد طاء ظاء عين غين فاء"
    " قاف كاف لام ميم نون هاء واو ياء همزة حاي",
    "family": "أبو أب أخو أخ حمو حم خال حبيب",
    "verbs: to live, feed, give, tell, know, see, go, return, put on, leave, count, think, find …": "أسكن أطعم أعطى "
    "أخبر أعلم أرى أخذ أقبل أنبأ أنشأ ابتدأ اتخذ ارتد استحال انبرى انقلب اخلولق تبدل تحول تخذ ترك تعلم جعل حجا حدث "
    "خبر درى ذهب رأى راح رجع رزق زعم زود ساء سقى شرع صبر طفق طق ظن عاد عد علق علم غادر كرب كسا نبا هب وجد وهب ورد حار",
    "nouns: north, right, lime, help, bliss, span …": "شمال يمين جير عوض رزق سرا صدقا صراحة عيانا عجبا أمد معاذ جلل"
    " مكانك مكانكم مكانكما مكانكن بطآن",
    "what is another word without its points: cat, lentils, figs, alive, lord, mouth": "قط عدس تين حي رب فو طاق",
}
_INDONESIAN = {
    "people and things": "bapak ibu hari bulan tahun masa pukul tempat kasus masalah masalahnya soal soalnya persoalan"
    " pertanyaan jawaban jawabnya jumlah jumlahnya keinginan kelamaan keadaan cara caranya",
    "halves of doubled words: eye, to process": "mata olah tama",
    "numbers": "satu dua tiga empat lima kedua keduanya kelima pertama setengah",
    "qualities": "baik baru benar besar kecil cukup dekat jauh jelas lama panjang penting tinggi umum tegas percuma"
    " pantas setinggi siap",
    "to work, ride, wait, ask, answer, explain, come, give, see, remember …": "bekerja bertanya bertutur"
    " berujar berdatangan bersiap datang didatangkan mendatang mendatangi mendatangkan tiba setiba setibanya"
    " beri berikan diberi diberikan diberikannya memberi memberikan buat dibuat dibuatnya membuat diingat diingatkan"
    " ingat mengingat mengingatkan teringat ingin inginkan diinginkan menginginkan minta diminta dimintai meminta"
    " memintakan jawab dijawab menjawab jelaskan dijelaskan dijelaskannya menjelaskan dikerjakan mengerjakan dilihat"
    " melihat melihatnya terlihat kelihatan menaiki naik menanti menantikan menunjuk menunjuki menunjukkan"
    " menunjuknya tunjuk ditunjuk ditunjuki ditunjukkan menyiapkan mempersiapkan tanya tanyakan tanyanya ditanya"
    " ditanyai ditanyakan menanya menanyai menanyakan memihak merasa rasa rasanya terasa tambah tambahnya ditambahkan"
    " menambahkan meyakini meyakinkan yakin tahu diketahui diketahuinya mengetahui keluar kembali lewat ikut balik",
}
CONTENT: Mapping[str, Mapping[str, str]] = {
    "ar": _ARABIC,
    "id": _INDONESIAN,
    "ca": {"to achieve, long, mode": "consegueixo conseguim conseguir consigueix consigueixen consigueixes llarg mode"},
    "de": {"the way (as “weg” is also away)": "weg"},
    "es": {
        "to feel, which slipped in beside forms of “ser”": "sentid sentida sentidas sentido sentidos siente sintiendo",
        "the state, besides been": "estado estados",
    },
    "eu": {
        "day, evening, road, light, world, to see, think, give, begin, end": "egun egunean arratsaldero bide argi"
        " mundura"
        " mendean ikusi pentsatuz emateko hasi hasiera hasieran hasteaz hasteko amaitu amaitzeko bukaeran bukatzeko",
        "numbers": "bat lehen lehenengo bigarrenez bigarrenik erdi",
    },
    "he": {"carpenter, goat, reason, purpose": "נגר עז אס סיבה הסיבה תכלית"},
    "hu": {
        "article, to look for": "cikk cikkek cikkeket keressünk",
        "qualities: good, big, new": "jó jól nagy nagyobb új újabb",
    },
    "ne": {
        "lip, time, new, good": "ओठ समय नयाँ राम्रो आत्म जान",
        "numbers": "एक दुई तीन चार पाँच पाँचौं सात नौ दोस्रो तेस्रो पहिलो",
    },
    "ro": {
        "numbers": "doi două doilea patru patra trei treia treilea prima primul",
        "girl, back, day, tomorrow, new": "fata spate zi mâine mîine noua nou",
    },
    "ru": {"two, three": "два три"},
}
"""Words by language and kind, parted by blanks."""


def content_words(code: str) -> frozenset[str]:
    """Return the words of a language's stop-word list that are looked for all the same."""
    return frozenset(word for words in CONTENT.get(code, {}).values() for word in words.split())


logger = logging.getLogger(__name__)

_LISTED = """
    ar arabic ca catalan da danish de german el greek es spanish eu basque fi finnish fr french he hebrew hu hungarian
    id indonesian it italian ne nepali nl dutch no norwegian pt portuguese ro romanian ru russian sv swedish ta tamil
    tr turkish
""".split()
NAMES = dict(zip(_LISTED[::2], _LISTED[1::2], strict=True))
"""Languages with a list, and what its file is called."""

_FOLDER = Path("core", "_static", "nltk_cache", "corpora", "stopwords")


@functools.cache
def listed(code: str) -> frozenset[str]:
    """Return the stop words of a language in lower case, as the list spells them; empty if it has no list."""
    folder = _folder()
    if code not in NAMES or folder is None:
        return frozenset()
    try:
        return frozenset((folder / NAMES[code]).read_text(encoding="utf-8").lower().split())
    except OSError:  # another version of the package
        return frozenset()


@functools.cache
def _folder() -> Path | None:
    spec = importlib.util.find_spec("llama_index")  # finds the package without importing it
    places = () if spec is None else spec.submodule_search_locations or ()
    found = next((Path(place) / _FOLDER for place in places if (Path(place) / _FOLDER).is_dir()), None)
    if found is None:
        logger.warning("llama-index-core has no lists of stop words at %s: languages are told apart less well", _FOLDER)
    return found
