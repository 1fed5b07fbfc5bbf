"""What each country writes in its own way: national ids, and street addresses.

National ids have a published form, and mostly a check digit. They are found by form; without a word before them
("PESEL", "BSN", "passport") only where the form or a checksum leaves little doubt.

An address is a number and a street in the order of the language, or a PO box; with the postcode and town after it. A
street is recognised by its word ("Street", "Straße", "rue", "calle", "via", "…straat", "rua"). Without a number it is
nobody's address.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

from recall_integrations.privacy.normal import Plain, alternatives, table

_DOUBLED = (0, 2, 4, 6, 8, 1, 3, 5, 7, 9)

_IBAN_LENGTHS = {country: length for length, countries in table("iban").items() for country in countries.split()}


def iban_length(country: str) -> int | None:
    """Return the length of an IBAN of a country (two capital letters)."""
    return _IBAN_LENGTHS.get(country)


def iban_valid(iban: str) -> bool:
    """Say whether the check digits are right. `iban` is in capital letters."""
    try:
        return int("".join(str(int(c, 36)) for c in iban[4:] + iban[:4])) % 97 == 1
    except ValueError:
        return False


def luhn(digits: str) -> bool:
    """Say whether digits pass Luhn's test."""
    total = 0
    for place, digit in enumerate(reversed(digits)):
        total += _DOUBLED[int(digit)] if place % 2 else int(digit)
    return total % 10 == 0


def weighted(digits: str, weights: Sequence[int]) -> int:
    """Return the sum of the digits, each times its weight."""
    return sum(int(digit) * weight for digit, weight in zip(digits, weights, strict=False))


# Multiplication in the dihedral group of order ten, and the permutation of each place.
_FLIP = [[(i + j) % 5 if i < 5 and j < 5 else (i + j) % 5 + 5 if i < 5 else (i - j) % 5 + 5 if j < 5 else (i - j) % 5
          for j in range(10)] for i in range(10)]  # fmt: skip
_TURN = [[0, 1, 2, 3, 4, 5, 6, 7, 8, 9], [1, 5, 7, 6, 2, 8, 3, 0, 9, 4]]
for _ in range(6):
    _TURN.append([_TURN[1][digit] for digit in _TURN[-1]])


def verhoeff(digits: str) -> bool:
    """Say whether digits pass Verhoeff's test."""
    check = 0
    for place, digit in enumerate(reversed(digits)):
        check = _FLIP[check][_TURN[place % 8][int(digit)]]
    return check == 0


_LETTERS_DNI = "TRWAGMYFPDXBNJZSQVHLCKE"
_LETTERS_HETU = "0123456789ABCDEFHJKLMNPRSTUVWXY"
_NOT_DIGITS = re.compile(r"[^0-9]")


def _digits(written: str) -> str:
    return _NOT_DIGITS.sub("", written)


def _of_digits(check: Callable[[str], bool]) -> Callable[[str], bool]:
    return lambda written: check(_digits(written))


def _day(month: str, day: str) -> bool:
    return 1 <= int(month) <= 12 and 1 <= int(day) <= 31


def _cpf(written: str) -> bool:
    digits = _digits(written)
    first = weighted(digits, range(10, 1, -1)) * 10 % 11 % 10
    second = weighted(digits, range(11, 1, -1)) * 10 % 11 % 10
    return digits[9:] == f"{first}{second}"


def _dni(written: str) -> bool:
    return _LETTERS_DNI[int(written[:8]) % 23] == written[-1].upper()


def _china(written: str) -> bool:
    weights = (7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2)
    return (
        _day(written[10:12], written[12:14])
        and "10X98765432"[weighted(written[:17], weights) % 11] == written[17].upper()
    )


def _nordic(written: str) -> bool:
    """Check a Swedish (year, month, day, Luhn) or Danish (day, month, year) number."""
    digits = _digits(written)[-10:]
    day = int(digits[4:6]) - (60 if int(digits[4:6]) > 60 else 0)
    swedish = 1 <= int(digits[2:4]) <= 12 and 1 <= day <= 31 and luhn(digits)
    return swedish or (len(written) == 11 and _day(digits[2:4], digits[:2]))


def _hetu(written: str) -> bool:
    written = written.upper()
    return _day(written[2:4], written[:2]) and _LETTERS_HETU[int(written[:6] + written[7:10]) % 31] == written[10]


def _belgium(written: str) -> bool:
    digits = _digits(written)
    return any(97 - int(century + digits[:9]) % 97 == int(digits[9:]) for century in ("", "2"))


def _czech(written: str) -> bool:
    digits = _digits(written)
    month = int(digits[2:4]) % 50
    return 1 <= (month - 20 if month > 20 else month) <= 12 and (
        len(digits) == 9 or int(digits[:9]) % 11 % 10 == int(digits[9])
    )


def _nir(written: str) -> bool:
    plain = written.replace(" ", "").upper().replace("2A", "19").replace("2B", "18")
    digits = _digits(plain)
    return len(digits) == 15 and 97 - int(digits[:13]) % 97 == int(digits[13:])


def _rut(written: str) -> bool:
    body, check = _digits(written[:-1]), written[-1].upper()
    total = sum(int(digit) * (2 + place % 6) for place, digit in enumerate(reversed(body)))
    return "0K987654321"[total % 11] == check if total % 11 in (0, 1) else str(11 - total % 11) == check


_aadhaar, _sin = _of_digits(verhoeff), _of_digits(luhn)
_avs = _of_digits(lambda d: weighted(d, (1, 3) * 7) % 10 == 0)
_snils = _of_digits(lambda d: weighted(d[:9], range(9, 0, -1)) % 101 % 100 == int(d[9:]))
_cuit = _of_digits(lambda d: "09987654321"[weighted(d[:10], (5, 4, 3, 2, 7, 6, 5, 4, 3, 2)) % 11] == d[10])
_END = r"(?![0-9A-Za-z]|:[0-9])"
_MONEY_BEFORE = re.compile(r"(?:\b(?:USD|EUR|GBP|INR|CHF|JPY|CAD|AUD|Rs\.?)|[$€£¥₹]) ?$")
# (lengths of the first group of digits, form, check).
_FORMS: tuple[tuple[tuple[int, ...], str, Callable[[str], bool]], ...] = (
    ((3, 13), r"756[. ]?[0-9]{4}[. ]?[0-9]{4}[. ]?[0-9]{2}", _avs),
    ((3,), r"[0-9]{3}\.[0-9]{3}\.[0-9]{3}-[0-9]{2}", _cpf),
    ((8,), r"[0-9]{8}[- ]?[A-HJ-NP-TV-Za-hj-np-tv-z]", _dni),
    ((17, 18), r"[1-9][0-9]{5}(?:19|20)[0-9]{2}[01][0-9][0-3][0-9]{4}[0-9Xx]", _china),
    ((4,), r"[2-9][0-9]{3}([ -])[0-9]{4}\1[0-9]{4}(?!-[0-9])", _aadhaar),
    ((6, 8), r"(?:19|20)?[0-9]{6}[-+][0-9]{4}", _nordic),
    ((6,), r"[0-9]{6}[-+A-Fa-fYyXxUu][0-9]{3}[0-9A-Ya-y]", _hetu),
    ((2,), r"[0-9]{2}\.[0-9]{2}\.[0-9]{2}[- ][0-9]{3}[. ][0-9]{2}", _belgium),
    ((6,), r"[0-9]{6}/[0-9]{3,4}", _czech),
    ((6,), r"[0-9]{6}-[1-8][0-9]{6}", lambda w: _day(w[2:4], w[4:6])),
    ((6,), r"[0-9]{6}-[0-9]{2}-[0-9]{4}", lambda w: _day(w[2:4], w[4:6])),
    ((1, 5, 7, 13, 15), r"[12] ?[0-9]{2} ?[0-9]{2} ?(?:[0-9]{2}|2[ABab]) ?[0-9]{3} ?[0-9]{3} ?[0-9]{2}", _nir),
    ((3,), r"[0-9]{3}-[0-9]{3}-[0-9]{3}[ -][0-9]{2}", _snils),
    ((3,), r"[0-9]{3}-[0-9]{3}-[0-9]{3}(?!-[0-9])", _sin),
    ((1, 2), r"[0-9]{1,2}\.[0-9]{3}\.[0-9]{3}-[0-9Kk]", _rut),
    ((2,), r"(?:2[03478]|3[034])-[0-9]{8}-[0-9]", _cuit),
)
_BY_SIZE: dict[int, list[tuple[re.Pattern[str], Callable[[str], bool]]]] = {}
for _sizes, _form, _check in _FORMS:
    for _size in _sizes:
        _BY_SIZE.setdefault(_size, []).append((re.compile(_form + _END), _check))


def id_at(text: str, start: int, size: int) -> tuple[int, int] | None:
    """Return the span of the national id that begins with the group of `size` digits at `start`, if one does."""
    if size not in _BY_SIZE:
        return None
    before = text[start - 1 : start]
    if before and before.isascii() and before.isalnum():
        return None
    if before in ("-", ".") and text[max(0, start - 2) : start - 1].isdigit():
        return None
    for form, check in _BY_SIZE[size]:
        match = form.match(text, start)
        if match and check(match.group()):
            amounts = check is _aadhaar and _MONEY_BEFORE.search(text, max(0, start - 5), start)
            return None if amounts else match.span()
    return None


# -- with letters in front -----------------------------------------------------------------------------------------


def _nie(written: str) -> bool:
    digits = str("XYZ".index(written[0])) + _digits(written)
    return _LETTERS_DNI[int(digits) % 23] == written[-1]


_ODD_VALUES = (1, 0, 5, 7, 9, 13, 15, 17, 19, 21, 2, 4, 18, 20, 11, 3, 6, 8, 12, 14, 16, 10, 22, 25, 24, 23)
_ODD = dict(zip("ABCDEFGHIJKLMNOPQRSTUVWXYZ", _ODD_VALUES, strict=True))
_ODD |= {str(digit): _ODD_VALUES[digit] for digit in range(10)}


def _codice_fiscale(written: str) -> bool:
    written = written.upper()
    total = sum(
        int(c) if place % 2 and c.isdigit() else ord(c) - 65 if place % 2 else _ODD[c]
        for place, c in enumerate(written[:15])
    )
    return chr(65 + total % 26) == written[15]


def _nric(written: str) -> bool:
    total = weighted(written[1:8], (2, 7, 6, 5, 4, 3, 2)) + (4 if written[0] in "TG" else 3 if written[0] == "M" else 0)
    if written[0] == "M":
        return "KLJNPQRTUWX"[10 - total % 11] == written[8]
    return ("JZIHGFEDCBA" if written[0] in "ST" else "XWUTRQPNMLK")[total % 11] == written[8]


def _hong_kong(written: str) -> bool:
    total = (ord(written[0]) - 55) * 8 + 36 * 9 + weighted(written[1:7], range(7, 1, -1))
    return "0A987654321"[total % 11] == written[-2] or str((11 - total % 11) % 11) == written[-2]


def _taiwan(written: str) -> bool:
    number = 10 + "ABCDEFGHJKLMNPQRSTUVXYWZIO".index(written[0])
    total = number // 10 + number % 10 * 9 + weighted(written[1:], (8, 7, 6, 5, 4, 3, 2, 1, 1))
    return total % 10 == 0


_LETTERED: tuple[tuple[str, Callable[[str], bool]], ...] = (
    (
        r"[A-CEGHJ-PR-TW-Z][A-CEGHJ-NPR-TW-Z](?P<s>[ -]?)[0-9]{2}(?P=s)[0-9]{2}(?P=s)[0-9]{2}(?P=s)[A-D]",
        lambda w: w[:2] not in ("BG", "GB", "KN", "NK", "NT", "TN", "ZZ"),
    ),
    (r"[XYZ]-?[0-9]{7}-?[A-HJ-NP-TV-Z]", _nie),
    (
        r"(?:[A-Z]{6}[0-9LMNP-V]{2}[A-EHLMPRST][0-9LMNP-V]{2}[A-Z][0-9LMNP-V]{3}[A-Z]"
        r"|[a-z]{6}[0-9]{2}[a-ehlmprst][0-9]{2}[a-z][0-9]{3}[a-z])",
        _codice_fiscale,
    ),
    (r"[STFGM][0-9]{7}[A-Z]", _nric),
    (r"[A-Z][0-9]{6}\([0-9A]\)", _hong_kong),
    (r"[A-Z][1289][0-9]{8}", _taiwan),
    (r"[A-Z]{3}[ABCFGHJLPT][A-Z][0-9]{4}[A-Z]", lambda _: True),  # PAN: the fourth letter says what its holder is
    (r"CHE-?[0-9]{3}\.?[0-9]{3}\.?[0-9]{3}", lambda _: True),
    (r"[A-Z]{4}[0-9]{2}[01][0-9][0-3][0-9][HMX][A-Z]{5}[0-9A-Z][0-9]", lambda _: True),  # CURP
)
_LETTERED_ANY = re.compile(
    "(?<![A-Za-z0-9])(?:"
    + "|".join(
        f"(?P<f{i}>{f.replace('<s>', f'<s{i}>').replace('=s)', f'=s{i})')})" for i, (f, _) in enumerate(_LETTERED)
    )
    + ")(?![A-Za-z0-9])"
)

_CUED = re.compile(
    rf"(?<![a-z0-9])(?:{alternatives('id')})(?:(?<![a-z])|(?![a-z]))"
    r"[^a-z0-9\n]{0,4}(?:(?:number|num|no|nr|nummer|numero|número|numer|is|ist|es|est|è|é|lautet|code|id)[^a-z0-9\n]{1,4}){0,3}"
    r"(?P<id>[a-z]{0,4}[ -]?[0-9]"
    r"(?:[ .\-/]?[0-9]|[.\-/]?[a-z](?![a-z]{2})| [a-z](?![a-z0-9])){4,20}|[a-z0-9]{8,12})(?![a-z0-9])"
)
_CUE_DIGITS_MIN = 5
_MIXED_DIGITS_MIN = 2  # among capital letters: passports


_CUE_STEMS = alternatives("id_stems").split("|")
_LETTER_AND_DIGITS = re.compile(r"[A-Z][ -]?[0-9]{2}|[a-z][0-9]{2}")


def ids(text: str, low: str) -> Iterator[tuple[int, int]]:
    """Yield the spans of national ids that begin with letters, or follow a word that names them."""
    for match in _LETTERED_ANY.finditer(text) if _LETTER_AND_DIGITS.search(text) else ():
        form = next(i for i in range(len(_LETTERED)) if match.group(f"f{i}") is not None)
        if _LETTERED[form][1](match.group()):
            yield match.span()
    if not low.startswith(("rg ", "rg:")) and not any(stem in low for stem in _CUE_STEMS):
        return
    for match in _CUED.finditer(low):
        written = text[slice(*match.span("id"))]
        digits = sum(c.isdigit() for c in written)
        if digits >= _CUE_DIGITS_MIN or (digits >= _MIXED_DIGITS_MIN and written.isupper() and len(written) >= 8):
            yield match.span("id")


_UP = r"A-ZÀ-ÖØ-ÞŚŻŹŁĆŃĘĄ"
_LO = r"a-zß-öø-ÿśżźłćńęąœ"
_NAME = rf"[{_UP}][{_UP}{_LO}'’.\-]{{0,30}}"
_TOWN = rf"{_NAME}(?:[ -](?:(?:am|an der|im|de|la|sur|upon|on|del|do|da|aan den|a\. ?[MR]\.) )?{_NAME}){{0,2}}"

# -- English -------------------------------------------------------------------------------------------------------

_EN_WORDS = alternatives("street_en")
_UNIT = r"(?:,? (?:Apt|Apartment|Unit|Suite|Ste|Flat|Floor|Fl|Room|Rm|#)\.? ?#?[0-9A-Za-z-]{1,6})?"
_EN_TOWN = (
    rf"(?:,?[ \n](?:{_TOWN},? ?(?:[A-Z]{{2}},? ?[0-9]{{5}}(?:-[0-9]{{4}})?|[A-Z]{{1,2}}[0-9][0-9A-Z]? ?[0-9][A-Z]{{2}}"
    rf"|[A-Z]{{2,3}} [0-9]{{4}}|[A-Z]{{2}} [A-Z][0-9][A-Z] ?[0-9][A-Z][0-9])"
    rf"|[A-Z]{{1,2}}[0-9][0-9A-Z]? ?[0-9][A-Z]{{2}}))?"
)
_ENGLISH = re.compile(
    rf"(?<![0-9A-Za-z$€£])(?<![0-9][.:/-])[0-9]{{1,5}}(?:[A-Za-z]|-[0-9]{{1,4}}|½)?,? (?:(?:[NSEW]|North|South|East"
    rf"|West|NE|NW|SE|SW)\.? )?"
    rf"(?:(?:{_NAME}|[0-9]{{1,3}}(?:st|nd|rd|th)) ){{1,4}}?(?:{_EN_WORDS})(?![A-Za-z0-9])\.?(?: (?:[NSEW]|NE|NW|SE"
    rf"|SW)(?![A-Za-z]))?{_UNIT}{_EN_TOWN}"
)
_MODEL = re.compile(r"(?:19|20)[0-9]{2} (?:[^ ,]+ ){3,}(?:Drive|Way|Row|Loop|Circle|Trail|Court)$")
_SHORTENED = re.compile(r" (?:St|Ave|Rd|Blvd|Ln|Dr|Ct|Pl|Sq|Ter|Pkwy|Hwy|Cres|Cir|Trl|Gdns|[NSEW]{1,2})\.$")
_EN_LOW_CUE = re.compile(r"\b(?:at|live on|lives on|living on|address(?: is)?:?|to|near|in) $")
_EN_LOW = re.compile(
    r"(?<![0-9a-z.,:$])[0-9]{1,5}[a-z]? (?!(?:\w+ )?(?:way|lane|lanes|miles?|mins?|minutes?|hours?|km|blocks?|new"
    r"|old|of|the|more|other|different|main) (?:road|drive|way|street|lane))"
    r"(?:(?:north|south|east|west|n|s|e|w) )?[a-z]{2,15}(?: [a-z]{2,15})? (?:street|st|avenue|ave|road|rd"
    r"|boulevard|blvd|lane|drive|court|terrace|crescent)(?![a-z])"
)
_EN_BOX = re.compile(
    r"(?<![a-z])(?:p\.? ?o\.? ?box|post office box|postfach|postbus|apartado(?: de correos| postal)?|casella postale"
    r"|caixa postal|boîte postale|b\.p\.|skrytka pocztowa) ?(?:n[°º.]? ?)?#?[0-9]{1,7}(?: ?[0-9]{2,3})?(?![0-9a-z])"
)

# -- others --------------------------------------------------------------------------------------------------------

_POSTCODE = rf"(?:,?[ \n](?:[A-Z]{{1,2}}-)?[0-9]{{4,5}}(?:-[0-9]{{3}}| [A-Z]{{2}})?,? {_TOWN})?"
_NUMBER = (
    r"(?:n[°º.]{1,2} ?|núm\.? ?|nr\.? ?)?[0-9]{1,4}(?:[ ]?[a-zA-Z](?![A-Za-z])|[-/][0-9]{1,4}| ?bis| ?ter)?(?![0-9])"
)
_SUFFIX = alternatives("street_suffix")
_SUFFIX_WEAK = "ring|damm|ufer|steig|steg|hof|markt|berg|graben|stieg|pad"  # also how other words end
_GERMANIC = re.compile(rf"(?:{_SUFFIX}|(?P<weak>{_SUFFIX_WEAK})) {_NUMBER}(?![%°])")
_GERMANIC_NAME = re.compile(rf"[{_LO}{_UP}\-]{{0,30}}(?:[ ][{_LO}{_UP}.\-]{{0,20}}[{_UP}]){{0,2}}")  # read backwards
_OLD_NAMES = re.compile(
    rf"(?<![{_UP}{_LO}])(?:Am|An der|An den|Auf der|Auf dem|Im|In der|Zum|Zur|Unter den|Bei der|Alter|Alte|Neue"
    rf"|Neuer|Hinter der)"
    rf" {_NAME}(?: {_NAME})? {_NUMBER},?[ \n](?:D-|A-|CH-)?[0-9]{{4,5}} {_TOWN}"
)
_SMALL = (
    r"(?:d[eu]s? la |de l['’]|des? |du |del |della |dello |dei |degli |delle |dell['’]|do |da |dos |das |d['’]|la "
    r"|le |les |los |las |el )?"
)
_ROMANCE = alternatives("street_romance")
_STREET_FIRST = re.compile(
    rf"(?<![{_UP}{_LO}])(?:{_ROMANCE}) ?{_SMALL}(?:[0-9]{{1,2}} (?:de )?)?{_NAME}(?: {_SMALL}{_NAME}){{0,4}},?"
    rf" {_NUMBER}{_POSTCODE}"
)
_BY_MEANS = re.compile(rf"via {_NAME} (?:19|20)[0-9]{{2}}")  # "via Zoom 2024"
_RUSSIAN = re.compile(
    r"(?:ул\.|улица|проспект|пр-т|пр\.|переулок|шоссе) [А-ЯЁ][а-яё-]{1,30}(?: [А-ЯЁ][а-яё-]{1,30})?,? (?:д\. ?"
    r"|дом )?[0-9]{1,4}(?:,? (?:кв\.|к\.|корп\.) ?[0-9]{1,4}){0,2}"
)
_FRENCH = re.compile(
    rf"(?<![0-9A-Za-z])(?<![0-9][.:/-])[0-9]{{1,4}}(?: ?bis| ?ter| ?[A-D])?,? (?:[Rr]ue|[Aa]venue|[Aa]v\."
    rf"|[Bb]oulevard|[Bb]d\.?|[Pp]lace|[Cc]hemin"
    rf"|[Aa]llée|[Ii]mpasse|[Qq]uai|[Cc]ours|[Rr]oute|[Ss]quare|[Pp]assage|[Ff]aubourg"
    rf"|[Ss]entier) {_SMALL}{_NAME}(?:[ -]{_SMALL}{_NAME}){{0,4}}{_POSTCODE}"
)
_AFTER_HYPHEN = re.compile(rf"^[{_LO}]*-+(?=[{_UP}])")
_BEHIND = re.compile(_POSTCODE)

_ROMANCE_WORDS = """
    calle avenida avda avda. av. plaza paseo carrer camino carretera ronda travesía via viale piazza piazzale corso
    largo vicolo lungotevere rua r. travessa praça estrada alameda rodovia ul. al. ulica rue avenue boulevard
"""
_ROMANCE_STEMS = ("c/", *(f"{word} " for word in _ROMANCE_WORDS.split()))
_BOX_STEMS = ("box", "postfach", "postbus", "apartado", "casella", "caixa", "boîte", "b.p.", "skrytka")
_POSTCODE_THERE = re.compile(rf"[0-9]{{4,5}} [{_UP}]")


def addresses(plain: Plain) -> Iterator[tuple[int, int]]:
    """Yield the spans of street addresses and PO boxes; spans may overlap."""
    text, low = plain.text, plain.low
    for match in _ENGLISH.finditer(text):
        if not _MODEL.match(match.group()):  # "2025 Max Pure Electric Rear-Wheel Drive"
            full_stop = match.group().endswith(".") and not _SHORTENED.search(match.group())
            yield match.start(), match.end() - full_stop
    for match in _EN_LOW.finditer(low):
        if _EN_LOW_CUE.search(low[max(0, match.start() - 14) : match.start()]):
            yield match.span()
    yield from (m.span() for m in _FRENCH.finditer(text))
    if any(stem in low for stem in _ROMANCE_STEMS):
        yield from (m.span() for m in _STREET_FIRST.finditer(text) if not _BY_MEANS.fullmatch(m.group()))
    yield from _germanic(text, low)
    if "ул" in low or "пр" in low or "шоссе" in low:
        yield from (m.span() for m in _RUSSIAN.finditer(text))
    if _POSTCODE_THERE.search(text):
        yield from (m.span() for m in _OLD_NAMES.finditer(text))
    if any(stem in low for stem in _BOX_STEMS):
        yield from (m.span() for m in _EN_BOX.finditer(low))


def _germanic(text: str, low: str) -> Iterator[tuple[int, int]]:
    for match in _GERMANIC.finditer(low):
        before = _GERMANIC_NAME.match(text[max(0, match.start() - 60) : match.start()][::-1])
        start = match.start() - (before.end() if before else 0)
        street = text[start : match.end()]
        behind = _BEHIND.match(text, match.end())
        end = behind.end() if behind else match.end()
        if hyphen := _AFTER_HYPHEN.search(street):  # a dash before the name
            start += hyphen.end()
            street = street[hyphen.end() :]
        if start == match.start() and end == match.end() and low.startswith("platz", start):
            continue  # "am Platz 5": a seat, or a rank
        if street[:1].isupper() and (end > match.end() or not match.group("weak")):
            yield start, end
