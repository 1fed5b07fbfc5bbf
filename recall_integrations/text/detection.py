"""Detect the language of a text from its script, its letters and its function words, fast enough for every line.

Nothing is guessed: where votes disagree or are few ("ok", "Lisbon 2019"), the answer is no language. Votes are whole
parts, so that their sum is the same in whatever order the words of a set come.
"""

from __future__ import annotations

import functools
import importlib.util
import logging
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import NamedTuple

from recall_integrations.patterns import regex
from recall_integrations.text.analyser import STOP_WORDS

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


CHARS_MAX = 320  # read of a text at first
MORE_CHARS_MAX = 2_000  # where they do not tell
VOTE = 720_720  # parts of a vote: shared by any number of languages up to 16, each has a whole number of them
_EVIDENCE = VOTE  # for a language that is not English, at least
_PIECES = 2  # words and letters that speak for it, at least: "care" is a word of Romanian too
_RIVAL = 0.6  # share of the best language's votes that English may have at most
_NAMED_VOTE = VOTE // 4  # for English, of a word of another language that English texts hold too: "el" in "El Niño"
_NAMED_VOTES = VOTE // 2  # of such words together, in a text without a word that is English only
_FEW_WORDS = 6  # of a text of so many one piece is enough, if nothing speaks for English
_LEAD = 0.53  # of the votes for it and for the next together
_SHARE = 0.15  # of the distinct words that are its function words; titles and lists of names have fewer
_MARK_VOTES = 2 * VOTE  # of letters, at most
_ARTICLE_VOTE = VOTE // 2  # of "l'" in "l'anno"
_KANA_SHARE = 0.1  # of Chinese characters and kana, from which a text is Japanese: "先週の会議"
_FOREIGN_SHARE = 0.3  # of the letters that are not Latin, from which the text is not


class Language(NamedTuple):
    """The language of a text."""

    code: str | None  # ISO 639-1; `None` = cannot be told
    confidence: float  # in [0, 1]; 0 without a code


UNKNOWN = Language(None, 0.0)


# The blocks of each script. Han alone is Chinese; beside kana, Japanese.
_SCRIPTS: Mapping[str, str] = {
    "el": "\u0370-\u03ff\u1f00-\u1fff", "cyrillic": "\u0400-\u052f", "hy": "\u0530-\u058f", "he": "\u0590-\u05ff",
    "arabic": "\u0600-\u06ff\u0750-\u077f", "devanagari": "\u0900-\u097f", "bn": "\u0980-\u09ff",
    "pa": "\u0a00-\u0a7f", "gu": "\u0a80-\u0aff", "or": "\u0b00-\u0b7f", "ta": "\u0b80-\u0bff", "te": "\u0c00-\u0c7f",
    "kn": "\u0c80-\u0cff", "ml": "\u0d00-\u0d7f", "si": "\u0d80-\u0dff", "th": "\u0e00-\u0e7f", "lo": "\u0e80-\u0eff",
    "bo": "\u0f00-\u0fff", "my": "\u1000-\u109f", "ka": "\u10a0-\u10ff", "ko": "\u1100-\u11ff\uac00-\ud7af",
    "am": "\u1200-\u137f", "km": "\u1780-\u17ff", "kana": "\u3040-\u30ff\u31f0-\u31ff\uff66-\uff9f",
    "han": "\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff",
}  # fmt: skip
OTHER_SCRIPT = regex(f"[{''.join(_SCRIPTS.values())}]+")
_BY_SCRIPT = {name: regex(f"[{blocks}]") for name, blocks in _SCRIPTS.items()}
_DENSE = {"han": 2, "kana": 2, "ko": 2}  # letters of an alphabet that one sign is worth


_MARKS: Mapping[str, str] = {
    "ß": "de", "ä": "de fi sv", "ö": "de fi sv tr hu", "ü": "de tr hu", "ñ": "es eu", "¿": "es", "¡": "es",
    "ã": "pt", "õ": "pt", "ç": "fr pt tr ca", "œ": "fr", "ê": "fr pt vi", "è": "fr it ca vi", "ù": "fr it",
    "ò": "it ca vi", "à": "fr it ca pt",
    "ì": "it vi", "â": "fr ro pt vi", "î": "fr ro", "ô": "fr pt vi", "û": "fr", "ë": "fr nl", "ï": "fr nl ca",
    "á": "es pt hu cs", "é": "fr es pt hu", "í": "es pt hu cs", "ó": "es pt hu pl", "ú": "es pt hu", "ő": "hu",
    "ű": "hu", "ă": "ro vi", "ș": "ro", "ț": "ro", "ţ": "ro", "ş": "tr ro", "ğ": "tr", "ı": "tr", "å": "sv da no",
    "ø": "da no", "æ": "da no", "ł": "pl", "ą": "pl lt", "ę": "pl lt", "ś": "pl", "ź": "pl", "ż": "pl", "ń": "pl",
    "ć": "pl", "ř": "cs", "ě": "cs", "ů": "cs", "č": "cs lt", "š": "cs lt", "ž": "cs lt", "ė": "lt", "ų": "lt",
    "ū": "lt", "į": "lt", "đ": "vi", "ơ": "vi", "ư": "vi", "ð": "is", "þ": "is",
}  # fmt: skip
_VIETNAMESE = regex("[\u1ea0-\u1ef9đơư]")
_CYRILLIC = (
    (regex("[іїєґ]"), regex("[ыэъё]"), "uk"),
    (regex("[ђјљњћџ]"), regex("[ѓќѕ]"), "sr"),
    (regex("[ѓќѕ]"), None, "mk"),
    (regex("[әғқңөұүһ]"), None, "kk"),
    (regex("ў"), None, "be"),
)
# Function words of Bulgarian that Russian does not have; the two share their letters.
_BULGARIAN = frozenset(
    "се са ще съм със беше който която които това тази този тези какво кога къде защо няма има".split()
)
_RUSSIAN_LETTERS = regex("[ыэё]")
_PERSIAN, _URDU = regex("[پچژگکی]"), regex("[ٹڈڑںےہھ]")
_HINDI = frozenset(
    "का की के को में है हैं से ने और पर यह वह क्या नहीं था थे थी हूँ मैं हम तुम आप कि जो हो कर एक दो या तक भी ही"
    " तो साथ लिए बाद पहले पिछले इस उस कौन कब कहाँ क्यों कैसे सब कुछ मेरा मेरी मेरे अपने हुआ हुई हुए गया गई गए किया बारे".split()
)
_MARATHI = frozenset("आहे आहेत आणि होते नाही काय कधी कुठे मला माझे".split())

# Words that ask, and a few others, where the lists of stop words leave them out.
_MORE: Mapping[str, str] = {
    "de": "wer wen wem wessen welche welcher welches welchen wann warum wieso weshalb wo wohin woher worum worüber "
    "wofür womit wie was oft statt lange beim gab gibt wurde wurden worden viele ja nein mag gestern heute nicht "
    "fand vorgestern morgen übermorgen woche wochen monat monate jahr jahre letzte letzten letzter letztes "
    "nächste nächsten nächstes vergangene tag tage nacht abend montag dienstag mittwoch donnerstag freitag "
    "samstag sonntag januar februar märz mai juni juli oktober dezember gesagt gemacht guten gut außer "
    "ausgenommen gibt's wurden kann kannst hallo danke bitte",
    "es": "cuál cuáles cuánto cuánta cuántos cuántas cuándo cómo dónde quiénes hay fue qué gusta quiero tengo mañana "
    "ayer hoy anteayer semana semanas mes meses año años pasado pasada próxima próximo día días noche tarde lunes "
    "martes miércoles jueves viernes sábado domingo enero febrero marzo abril mayo junio julio agosto septiembre "
    "octubre noviembre diciembre dijo dije hice hizo hicimos pasó contó quién cuál nuestra nuestro mis veces vez "
    "salvo excepto buenas buenos gracias hola ser dos prefiero",
    "fr": "quel quelle quels quelles combien quand comment pourquoi où quoi est-ce oui ça hier j'ai avant-hier "
    "aujourd'hui demain semaine semaines mois année années dernier dernière derniers dernières prochain prochaine "
    "jour jours nuit matin soir lundi mardi mercredi jeudi vendredi samedi dimanche janvier février mars avril "
    "mai juin juillet août septembre octobre novembre décembre dit fait quelqu'un lequel laquelle personne sauf "
    "fois merci bonjour",
    "it": "quale quali quanto quanti quante quando perché cosa dov'è cos'è sono ieri oggi domani settimana settimane "
    "mese mesi anno anni scorso scorsa prossima prossimo giorno giorni notte mattina sera lunedì martedì "
    "mercoledì giovedì venerdì sabato domenica gennaio febbraio marzo aprile maggio giugno luglio agosto "
    "settembre ottobre novembre dicembre detto fatto tranne sempre mai grazie buon buona ciao",
    "pt": "quanto quantos quantas quando onde porquê você vocês sim está estão ontem anteontem hoje amanhã semana "
    "semanas mês meses ano anos passado passada próxima próximo dia dias noite manhã tarde segunda terça quarta "
    "quinta sexta sábado domingo fevereiro março abril maio junho julho agosto setembro outubro novembro dezembro "
    "disse fiz fez fizemos falei falou falamos contou aconteceu quem qual quais que viu exceto menos obrigado "
    "obrigada olá bom boa",
    "nl": "hoeveel welke wanneer waarom waar wie wat hoe hebben werd werden jij bij",
    "sv": "hur många vilken vilket vilka varför när var",
    "da": "hvor mange hvilken hvilket hvilke hvorfor hvornår hvad",
    "no": "hvor mange hvilken hvilket hvilke hvorfor når hva",
    "tr": "kaç hangi nerede kim nasıl neden zaman var yok değil bir",
    "ro": "câte câți când unde cine cum care este sunt",
    "pl": "jest się nie jak kiedy gdzie kto ile który która które dlaczego czy dla przez był była było są",
    "cs": "je jsou kdo kde kdy jak který která které proč byl byla bylo se že pro",
    "vi": "là của và các những được trong không có người ai khi nào bao nhiêu gì tôi bạn mình đã đang sẽ ở đâu thích "
    "ăn uống hôm tuần tháng năm giờ lúc với từ đến này đó rồi chưa vì sao thế mấy mẹ bố chị bằng để như về tại ngày",
    "id": "apa siapa kapan mana berapa yang dan tidak dengan untuk",
}  # fmt: skip
# Stop words of other languages that are words of English too. They speak for English as well.
_ENGLISH_TOO = (
    "want sense lei end non per care oh face com gain mode door sit fan era sale sea pot ins met man men min mine die"
    " war mint pour son tale comment dog dig fa tanya inn hat alt asa dan chi la bare bin yo hay los col para den zen"
    " cam con ham till dove come more sin sue fin hi am pm ok as sub ones note log mos pa ma na ya li han dong soy bai"
    " lo ha wat et del el van von die ad em no one so me he do an on in is was at us tip tom tim kim ben mai ons"
    " wen yang gu mon ii iii ca tu te si al que uno via vs ex eh ah uh um nah etc"
)  # fmt: skip
_PEOPLE = frozenset({"mei"})  # names that are function words somewhere: they speak for no language
# The same where they have a capital: given names and brands.
_GIVEN = frozenset("ada asta cara dell ella ellen hans kira mia nell nola nora".split())
# With a capital inside a sentence they are no names: German writes "Sie" so.
_POLITE = frozenset("sie ihnen ihr ihre ihrem ihren ihrer ihres".split())
_LATIN = ("de", "es", "fr", "pt", "it", "nl", "sv", "da", "no", "fi", "hu", "ro", "tr", "ca", "id", "eu")
_SELDOM = frozenset({"ca", "eu", "id", "da", "no", "ro"})  # they take no vote from the others that share a word
_WORD = regex(r"[^\W\d_]+(?:['’][^\W\d_]+)?")
_CONSONANTS = frozenset("bcdfghjklmnpqrstvwxz")
_CAPITAL = regex(r"(?<![^\W_])[A-ZÀ-ÖØ-Þ][a-zß-öø-ÿ]+(?![^\W_]|['’][^\W_])")
_INSIDE = regex(r"(?:(?<=[a-zß-öø-ÿ] )|(?<=[a-zß-öø-ÿ], ))[A-ZÀ-ÖØ-Þ][a-zß-öø-ÿ]+(?![^\W_]|['’][^\W_])")
_SMALL = regex(r"(?<![^\W_])[a-zß-öø-ÿ]+(?![^\W_])")
_ELISION = regex(r"\b([cdjlmn]|qu|dell|all|nell|sull)'(?=[aeiouyhéêàâœ]\w)")


def detect_language(text: str) -> Language:
    """Detect the language of `text`; return `Language(None, 0.0)` if it cannot be told.

    It reads the first 320 characters, and 2,000 if those do not tell. 10 to 30 µs for a line. Never raises.
    """
    return _detected(text[:MORE_CHARS_MAX])


@functools.lru_cache(maxsize=4_096)  # a text is asked about when it is written, when it is indexed and when it is found
def _detected(text: str) -> Language:
    found = _language(text[:CHARS_MAX])
    return _language(text) if found.code is None and len(text) > CHARS_MAX else found


def _language(sample: str) -> Language:
    if not sample.isascii():
        found = _by_script(sample)
        if found is not None:
            return found
    return _by_words(sample)


def _by_script(sample: str) -> Language | None:
    """Detect the language of a text that is not in Latin letters; `None` if it is in Latin letters."""
    runs = OTHER_SCRIPT.findall(sample)
    if not runs:
        return None
    weights: dict[str, int] = {}
    for run in runs:
        script = _script(run[0])
        if script == "han" and _script(run[-1]) == "kana":
            script = "kana"
        weights[script] = weights.get(script, 0) + len(run) * _DENSE.get(script, 1)
    others = sum(weights.values())
    latin = sum(map(len, _WORD.findall(sample))) - sum(map(len, runs))
    share = others / (others + max(latin, 0))
    if share < _FOREIGN_SHARE:
        return None
    script = max(weights, key=weights.__getitem__)
    if script in {"han", "kana"}:
        signs = "".join(runs)
        kana = sum(_script(c) == "kana" for c in signs)
        return Language("ja" if kana > _KANA_SHARE * len(signs) else "zh", share)
    whole = sample.lower()
    if script == "cyrillic":
        return Language(_cyrillic(whole), share)
    if script == "arabic":
        code = "ur" if _URDU.search(whole) else "fa" if len(_PERSIAN.findall(whole)) > 1 else "ar"
        return Language(code, share)
    if script == "devanagari":
        words = whole.replace("।", " ").split()
        nepali = listed("ne") - _HINDI
        if not _MARATHI.isdisjoint(words):
            return Language("mr", share)
        return Language("ne" if len(nepali.intersection(words)) > max(1, len(words) // 4) else "hi", share)
    return Language(script, share)


def _script(char: str) -> str:
    return next(name for name, block in _BY_SCRIPT.items() if block.match(char))


def _cyrillic(sample: str) -> str:
    for own, foreign, code in _CYRILLIC:
        if own.search(sample) and (foreign is None or not foreign.search(sample)):
            return code
    if not _RUSSIAN_LETTERS.search(sample):
        words = set(_WORD.findall(sample))
        if len(words & _BULGARIAN) > len(words & listed("ru")) // 2:
            return "bg"
    return "ru"


@functools.cache
def _votes() -> Mapping[str, tuple[tuple[str, int], ...]]:
    """Map each function word to the languages that have it, with its vote for each of them."""
    codes = sorted({"en", *_LATIN, *_MORE})
    # A bit for each language: few objects, which the first recall of a process would have collected with all others.
    languages: dict[str, int] = {}
    lists = [("en", STOP_WORDS), *((code, listed(code)) for code in _LATIN)]
    for code, words in [*lists, *((code, frozenset(more.split())) for code, more in _MORE.items())]:
        bit = 1 << codes.index(code)
        for word in words - _PEOPLE:
            languages[word] = languages.get(word, 0) | bit
    shares = {
        bits: _shares({code for i, code in enumerate(codes) if bits >> i & 1}) for bits in set(languages.values())
    }
    votes = {word: shares[bits] for word, bits in languages.items()}
    for word in votes.keys() & _named():
        votes[word] = (*((code, vote // 2) for code, vote in votes[word]), ("en", _NAMED_VOTE))
    return votes


@functools.cache
def _named() -> frozenset[str]:
    """Return words of other languages that an English text may hold, mostly in names."""
    return frozenset(_ENGLISH_TOO.split()) - STOP_WORDS


def _shares(codes: set[str]) -> tuple[tuple[str, int], ...]:
    often = len(codes - _SELDOM)
    return tuple((code, VOTE // (len(codes) if code in _SELDOM else often)) for code in sorted(codes))


@functools.cache
def _plain() -> frozenset[str]:
    """Return the function words of English that no other language has."""
    return frozenset(word for word, shares in _votes().items() if [code for code, _ in shares] == ["en"])


def _by_words(sample: str) -> Language:
    votes = _votes()
    lowered = sample.lower().replace("’", "'")
    scores: dict[str, int] = {"en": 0}
    pieces: dict[str, int] = {}
    if "'" in lowered:
        lowered = _without_articles(lowered, scores, pieces)
    said = set(_WORD.findall(lowered))
    # Most texts are English: then nothing has to be counted.
    known = said & votes.keys()
    plain, against = len(known & _plain()), len(known - STOP_WORDS)
    if not scores.keys() - {"en"} and plain > 2 * against and sample.isascii():
        return Language("en", plain / (plain + against))
    # Names speak for a language only beside words that do.
    if sample != lowered and (names := known & _names(sample)) and not known - names - STOP_WORDS - _named():
        known -= names
    _add_words(known, scores, pieces)
    if not plain:
        scores["en"] -= max(0, _NAMED_VOTE * len(known & _named()) - _NAMED_VOTES)
    if not sample.isascii():
        _add_letters(lowered, scores, pieces)
        if not plain:  # accents, and no word that is English alone
            scores["en"] = 0
    code = max(sorted(scores), key=scores.__getitem__)
    best, english = scores[code], scores["en"]
    if code == "en" and not plain:  # "Visita al dentista": words that English shares tell nothing
        return UNKNOWN
    if code == "en" or english >= _RIVAL * best:
        sure = plain and english and english >= best
        return Language("en", english / (english + best * (code != "en"))) if sure else UNKNOWN
    rival = max(score for other, score in scores.items() if other != code)
    wanted = 1 if not english and 1 < len(said) <= _FEW_WORDS else max(_PIECES, _SHARE * len(said))
    enough = best >= _EVIDENCE and pieces[code] >= wanted
    confidence = best / (best + rival)
    return Language(code, confidence) if enough and confidence > _LEAD else UNKNOWN


def _names(sample: str) -> frozenset[str]:
    """Return the words that are read as names: with a capital at every place and inside a sentence, or a given name."""
    small = set(_SMALL.findall(sample))
    inside = {word.lower() for word in _INSIDE.findall(sample)}
    names = inside - _no_names() if len(inside) <= max(1, len(small)) else set()
    names |= _GIVEN.intersection(map(str.lower, _CAPITAL.findall(sample)))
    return frozenset(names - small - STOP_WORDS)


@functools.cache
def _no_names() -> frozenset[str]:
    """Return the words of time and of asking, and the German words that have a capital out of politeness."""
    return _POLITE.union(*(more.split() for more in _MORE.values())) - _named()


def votes_of(sample: str) -> tuple[dict[str, int], frozenset[str]]:
    """Return the votes of a text in Latin letters for each language, in parts of `VOTE`, and its function words."""
    scores: dict[str, int] = {}
    pieces: dict[str, int] = {}
    lowered = sample.lower().replace("’", "'")
    if "'" in lowered:
        lowered = _without_articles(lowered, scores, pieces)
    known = frozenset(w for w in _WORD.findall(lowered) if len(w) > 1 or w not in _CONSONANTS) & _votes().keys()
    _add_words(known, scores, pieces)
    if not sample.isascii():
        _add_letters(lowered, scores, pieces)
    return scores, known


def _add_words(known: Collection[str], scores: dict[str, int], pieces: dict[str, int]) -> None:
    votes = _votes()
    for word in known:
        for code, vote in votes[word]:
            scores[code] = scores.get(code, 0) + vote
            pieces[code] = pieces.get(code, 0) + 1


def _add_letters(lowered: str, scores: dict[str, int], pieces: dict[str, int]) -> None:
    given: dict[str, int] = {}
    letters: dict[str, int] = {}
    for letter in _MARKS.keys() & set(lowered):
        codes = _MARKS[letter].split()
        for code in codes:
            given[code] = given.get(code, 0) + VOTE // len(codes)
            letters[code] = letters.get(code, 0) + 1
    vietnamese = len(_VIETNAMESE.findall(lowered))
    if vietnamese:
        given["vi"] = max(given.get("vi", 0), vietnamese * VOTE)
    for code, votes in given.items():
        scores[code] = scores.get(code, 0) + min(votes, _MARK_VOTES)
        pieces[code] = pieces.get(code, 0) + letters.get(code, 1)


def _without_articles(lowered: str, scores: dict[str, int], pieces: dict[str, int]) -> str:
    """Split "l'anno", "qu'il", "dell'arte" into two words each, and add the votes of such articles."""
    for lead in set(_ELISION.findall(lowered)):
        codes = ("it",) if len(lead) > 2 else ("fr",) if lead in {"qu", "j", "n"} else ("fr", "it", "ca")
        for code in codes:
            scores[code] = scores.get(code, 0) + _ARTICLE_VOTE
            pieces[code] = pieces.get(code, 0) + 1
    return _ELISION.sub(r"\1 ", lowered)
