"""Street addresses: a number and a street in the order of the language, PO boxes; with the postcode and town after it.

A street is recognised by its word ("Street", "Straße", "rue", "calle", "via", "…straat", "rua"). Without a number it is
nobody's address.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from recall_integrations.privacy.normal import Plain, alternatives

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


def find(plain: Plain) -> Iterator[tuple[int, int]]:
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
