"""Identifiers of every kind that is promised, made up: right prefixes, lengths and check digits, random otherwise.

Where words around it make it known, the part that has to go stands between « and ».
"""

from __future__ import annotations

import base64
import string
from collections.abc import Callable
from random import Random

Make = Callable[[Random], str]
ALNUM = string.ascii_letters + string.digits
LOWER = string.ascii_lowercase + string.digits
HEX = "0123456789abcdef"
UPPER = string.ascii_uppercase + string.digits


def some(r: Random, letters: str, n: int) -> str:
    """`n` of these characters, with at least one digit, lower and upper case letter where there are such."""
    while True:
        text = "".join(r.choice(letters) for _ in range(n))
        if n < 12 or all(
            any(c in group for c in text) or not set(group) & set(letters)
            for group in (string.digits, string.ascii_lowercase, string.ascii_uppercase)
        ):
            return text


def digits(r: Random, n: int) -> str:
    return "".join(r.choice(string.digits) for _ in range(n))


def luhn_digit(body: str) -> str:
    total = 0
    for place, digit in enumerate(reversed(body)):
        doubled = int(digit) * (2 - place % 2)
        total += doubled - 9 if doubled > 9 else doubled
    return str(-total % 10)


def grouped(text: str, sizes: tuple[int, ...], separator: str) -> str:
    parts, at = [], 0
    for size in sizes:
        parts.append(text[at : at + size])
        at += size
    return separator.join(p for p in [*parts, text[at:]] if p)


def card(prefixes: tuple[str, ...], length: int, sizes: tuple[int, ...]) -> Make:
    def make(r: Random) -> str:
        prefix = r.choice(prefixes)
        body = prefix + digits(r, length - len(prefix) - 1)
        return grouped(body + luhn_digit(body), sizes, r.choice(["", " ", "-", ".", "\u00a0", "  "]))

    return make


CARDS: dict[str, Make] = {
    "visa": card(("4",), 16, (4, 4, 4, 4)),
    "mastercard": card(("51", "53", "55", "2221", "2720"), 16, (4, 4, 4, 4)),
    "amex": card(("34", "37"), 15, (4, 6, 5)),
    "discover": card(("6011", "65"), 16, (4, 4, 4, 4)),
    "diners": card(("36", "38", "300"), 14, (4, 6, 4)),
    "jcb": card(("3528", "3589"), 16, (4, 4, 4, 4)),
    "unionpay": card(("62",), 19, (4, 4, 4, 4, 3)),
}


def iban(country: str, shape: str) -> Make:
    """`shape`: d for a digit, A for a letter."""

    def make(r: Random) -> str:
        body = "".join(r.choice(string.digits if c == "d" else string.ascii_uppercase) for c in shape)
        check = 98 - int("".join(str(int(c, 36)) for c in body + country + "00")) % 97
        whole = f"{country}{check:02d}{body}"
        written = grouped(whole, (4,) * (len(whole) // 4), r.choice(["", " ", "-", "\u00a0", "\u202f"]))
        return r.choice([written, written, written.lower()])

    return make


IBANS: dict[str, Make] = {
    "iban-DE": iban("DE", "d" * 18),
    "iban-GB": iban("GB", "AAAA" + "d" * 14),
    "iban-FR": iban("FR", "d" * 23),
    "iban-NL": iban("NL", "AAAA" + "d" * 10),
    "iban-ES": iban("ES", "d" * 20),
    "iban-NO": iban("NO", "d" * 11),
    "iban-MT": iban("MT", "AAAA" + "d" * 23),
}


def phone(*forms: str) -> Make:
    """Forms in which N is a digit from 2 to 9 and # any."""

    def make(r: Random) -> str:
        form = r.choice(forms)
        return "".join(r.choice("23456789") if c == "N" else r.choice(string.digits) if c == "#" else c for c in form)

    return make


PHONES: dict[str, Make] = {
    "phone-us": phone(
        "N##-N##-####", "(N##) N##-####", "N##.N##.####", "N## N## ####", "1-N##-N##-####", "(N##)N##-####"
    ),
    "phone-us-odd": phone(
        "N##\u00a0N##\u00a0####",
        "N##\u2011N##\u2011####",
        "N##\tN##\t####",
        "N##  N##  ####",
        "N##\u2009N##\u2009####",
        "N##\u2013N##\u2013####",
    ),
    "phone-e164": phone(
        "+1N##N######", "+4915########", "+447#########", "+336########", "+8613#########", "+9198########"
    ),
    "phone-int": phone(
        "+44 20 7### ####",
        "+49 (0)151 #######",
        "+33 6 ## ## ## ##",
        "+1 (N##) N##-####",
        "+34 6## ## ## ##",
        "+39 3## ### ####",
        "+81 90-####-####",
        "+7 9## ###-##-##",
        "+48 5## ### ###",
        "+55 11 9####-####",
    ),
    "phone-00": phone("0044 20 7### ####", "0049 151 ########", "0033 6 ## ## ## ##", "0044207#######"),
    "phone-national": phone(
        "020 7### ####",
        "0171 #######",
        "089 ########",
        "06 ## ## ## ##",
        "06.##.##.##.##",
        "0171/#######",
        "030-#######",
        "090-####-####",
        "0412 ### ###",
        "079 ### ## ##",
        "(0171) #######",
        "07### ######",
        "07#########",
    ),
    "phone-grouped": phone("98### #####", "138 #### ####", "(11) 9####-####", "8 (912) ###-##-##", "8 912 ###-##-##"),
}


def wide(make: Make) -> Make:
    """In full width, or in Arabic-Indic digits, or with something invisible in between."""

    def changed(r: Random) -> str:
        text = make(r)
        way = r.randrange(3)
        if way == 0:
            return "".join(chr(ord(c) + 0xFEE0) if "!" <= c <= "~" else c for c in text)
        if way == 1:
            return "".join(chr(0x660 + int(c)) if c in string.digits else c for c in text)
        return r.choice("\u200b\u00ad\u2060\ufeff\u200e").join(text)

    return changed


SSNS: dict[str, Make] = {
    "ssn": lambda r: grouped(digits(r, 9), (3, 2, 4), r.choice("- \u2011\u00a0\u2013")),
}
IPS: dict[str, Make] = {
    "ipv4": lambda r: ".".join(str(r.randrange(1, 255)) for _ in range(4)),
    "ipv6": lambda r: r.choice(
        [
            ":".join(some(r, HEX, 4) for _ in range(7)) + ":1",
            f"2001:db8::{some(r, HEX, 3)}1",
            f"fe80::1{some(r, HEX, 2)}:{some(r, HEX, 4)}",
        ]
    ),
}
EMAILS: dict[str, Make] = {
    "email": lambda r: (
        f"{some(r, LOWER, 6)}@{some(r, string.ascii_lowercase, 7)}.{r.choice(['com', 'org', 'de', 'io'])}"
    ),
    "email-long": lambda r: (
        f"{some(r, LOWER, 4)}.{some(r, LOWER, 5)}+{some(r, LOWER, 3)}@mail.{some(r, LOWER, 5)}.co.uk"
    ),
    "email-apostrophe": lambda r: f"o'{some(r, string.ascii_lowercase, 5)}@{some(r, string.ascii_lowercase, 7)}.com",
    "email-idn": lambda r: f"{some(r, string.ascii_lowercase, 5)}@bücher-{some(r, LOWER, 3)}.de",
    "email-umlaut": lambda r: f"jörg.{some(r, string.ascii_lowercase, 5)}@{some(r, LOWER, 6)}.de",
}


def b64(r: Random, n: int) -> str:
    return base64.b64encode(bytes(r.randrange(256) for _ in range(n))).decode()


def jwt(r: Random) -> str:
    parts = [
        base64.urlsafe_b64encode(t).decode().rstrip("=") for t in (b'{"alg":"HS256","typ":"JWT"}', b'{"sub":"1234"}')
    ]
    return ".".join([*parts, some(r, ALNUM + "-_", 43)])


def pem(label: str, headers: str = "") -> Make:
    def make(r: Random) -> str:
        body = "\n".join(b64(r, 48) for _ in range(3))
        return f"-----BEGIN {label}-----\n{headers}{body}\n-----END {label}-----"

    return make


def key(prefix: str, letters: str, n: int) -> Make:
    return lambda r: prefix + some(r, letters, n)


SECRETS: dict[str, Make] = {
    "openai": key("sk-", ALNUM, 48),
    "openai-project": key("sk-proj-", ALNUM + "-_", 74),
    "anthropic": key("sk-ant-api03-", ALNUM + "-_", 93),
    "openrouter": key("sk-or-v1-", HEX, 64),
    "groq": key("gsk_", ALNUM, 52),
    "replicate": key("r8_", ALNUM, 37),
    "xai": key("xai-", ALNUM, 80),
    "perplexity": key("pplx-", ALNUM, 48),
    "nvidia": key("nvapi-", ALNUM + "-_", 64),
    "huggingface": key("hf_", string.ascii_letters, 34),
    "cohere-like": lambda r: f"COHERE_API_KEY=«{some(r, ALNUM, 40)}»",
    "github": key("ghp_", ALNUM, 36),
    "github-oauth": key("gho_", ALNUM, 36),
    "github-pat": lambda r: f"github_pat_{some(r, ALNUM, 22)}_{some(r, ALNUM, 59)}",
    "gitlab": key("glpat-", ALNUM + "-_", 20),
    "gitlab-runner": key("glrt-", ALNUM + "-_", 20),
    "npm": key("npm_", ALNUM, 36),
    "pypi": key("pypi-AgEIcHlwaS5vcmc", ALNUM + "-_", 80),
    "rubygems": key("rubygems_", HEX, 48),
    "docker": key("dckr_pat_", ALNUM + "-_", 27),
    "aws-id": key("AKIA", UPPER, 16),
    "aws-temporary": key("ASIA", UPPER, 16),
    "aws-secret": lambda r: f"aws_secret_access_key = «{some(r, ALNUM + '/+', 40)}»",
    "google": key("AIza", ALNUM + "-_", 35),
    "google-oauth": key("ya29.", ALNUM + "-_", 60),
    "google-client": key("GOCSPX-", ALNUM + "-_", 28),
    "stripe": key("sk_live_", ALNUM, 24),
    "stripe-restricted": key("rk_live_", ALNUM, 24),
    "stripe-hook": key("whsec_", ALNUM, 32),
    "slack-bot": lambda r: f"xoxb-{digits(r, 11)}-{digits(r, 12)}-{some(r, ALNUM, 24)}",
    "slack-app": lambda r: f"xapp-1-A{some(r, UPPER, 10)}-{digits(r, 12)}-{some(r, HEX, 64)}",
    "slack-hook": lambda r: (
        f"https://hooks.slack.com/services/T{some(r, UPPER, 8)}/B{some(r, UPPER, 8)}/{some(r, ALNUM, 24)}"
    ),
    "discord-hook": lambda r: f"https://discord.com/api/webhooks/{digits(r, 18)}/{some(r, ALNUM + '-_', 68)}",
    "discord-bot": lambda r: f"M{some(r, ALNUM, 23)}.{some(r, ALNUM, 6)}.{some(r, ALNUM + '-_', 27)}",
    "telegram": lambda r: f"{r.randrange(10**8, 10**10)}:AA{some(r, ALNUM + '-_', 33)}",
    "twilio": key("SK", HEX, 32),
    "twilio-account": key("AC", HEX, 32),
    "sendgrid": lambda r: f"SG.{some(r, ALNUM + '-_', 22)}.{some(r, ALNUM + '-_', 43)}",
    "mailgun": key("key-", HEX, 32),
    "mailchimp": lambda r: f"{some(r, HEX, 32)}-us{r.randrange(1, 21)}",
    "shopify": key("shpat_", HEX, 32),
    "databricks": key("dapi", HEX, 32),
    "vault": key("hvs.", ALNUM + "-_", 90),
    "digitalocean": key("dop_v1_", HEX, 64),
    "square": key("sq0atp-", ALNUM + "-_", 22),
    "linear": key("lin_api_", ALNUM, 40),
    "notion": key("secret_", ALNUM, 43),
    "postman": lambda r: f"PMAK-{some(r, HEX, 24)}-{some(r, HEX, 34)}",
    "figma": key("figd_", ALNUM + "-_", 40),
    "sentry": key("sntrys_", ALNUM, 64),
    "grafana": lambda r: f"glsa_{some(r, ALNUM, 32)}_{some(r, HEX, 8)}",
    "newrelic": key("NRAK-", UPPER, 27),
    "atlassian": key("ATATT3xFfGF0", ALNUM + "-_", 180),
    "doppler": key("dp.pt.", ALNUM, 43),
    "pulumi": key("pul-", HEX, 40),
    "supabase": key("sbp_", HEX, 40),
    "terraform": lambda r: f"{some(r, ALNUM, 14)}.atlasv1.{some(r, ALNUM + '-_', 67)}",
    "langsmith": lambda r: f"lsv2_pt_{some(r, HEX, 32)}_{some(r, HEX, 10)}",
    "tailscale": lambda r: f"tskey-auth-{some(r, ALNUM, 12)}-{some(r, ALNUM, 32)}",
    "azure-account": lambda r: (
        f"DefaultEndpointsProtocol=https;AccountName=stuff;AccountKey=«{b64(r, 64)}»;EndpointSuffix=core.windows.net"
    ),
    "azure-bus": lambda r: (
        f"Endpoint=sb://x.servicebus.windows.net/;SharedAccessKeyName=Root;SharedAccessKey=«{b64(r, 32)}»"
    ),
    "azure-sas": lambda r: f"https://x.blob.core.windows.net/c/b?sv=2022-11-02&sig=«{some(r, ALNUM, 43)}%3D»",
    "sql-server": lambda r: f"Server=db;Database=x;User Id=sa;Password=«{some(r, ALNUM, 12)}»;",
    "postgres": lambda r: f"postgresql://bob:«{some(r, ALNUM, 12)}»@db.example.com:5432/x",
    "mongodb": lambda r: f"mongodb+srv://bob:«{some(r, ALNUM, 12)}»@cluster0.example.net/x?retryWrites=true",
    "redis": lambda r: f"redis://:«{some(r, ALNUM, 12)}»@cache:6379/0",
    "basic-auth": lambda r: f"https://bob:«{some(r, ALNUM, 10)}»@example.com/x",
    "bearer": lambda r: f"Authorization: Bearer «{some(r, ALNUM, 40)}»",
    "basic": lambda r: f"Authorization: Basic «{base64.b64encode(b'bob:' + some(r, ALNUM, 14).encode()).decode()}7»",
    "password": lambda r: f"password: «{some(r, ALNUM, 8)}1»",
    "password-json": lambda r: f'{{"dbPassword": "«{some(r, ALNUM, 10)}»"}}',
    "jwt": jwt,
    "rsa": pem("RSA PRIVATE KEY"),
    "rsa-headers": pem("RSA PRIVATE KEY", "Proc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,0123456789ABCDEF\n\n"),
    "openssh": pem("OPENSSH PRIVATE KEY"),
    "pgp": pem("PGP PRIVATE KEY BLOCK", "Version: GnuPG v2 - x\n\n"),
    "pgp-message": pem("PGP MESSAGE"),
}


def _dni(r: Random) -> str:
    number = r.randrange(10**7, 10**8)
    return f"{number}{r.choice(['', '-'])}{'TRWAGMYFPDXBNJZSQVHLCKE'[number % 23]}"


def _cpf(r: Random) -> str:
    body = digits(r, 9)
    for start in (10, 11):
        total = sum(int(d) * w for d, w in zip(body, range(start, 1, -1), strict=True))
        body += str(total * 10 % 11 % 10)
    return f"{body[:3]}.{body[3:6]}.{body[6:9]}-{body[9:]}"


def _avs(r: Random) -> str:
    body = "756" + digits(r, 9)
    check = -sum(int(d) * (3 if i % 2 else 1) for i, d in enumerate(body)) % 10
    return grouped(f"{body}{check}", (3, 4, 4), ".")


def _personnummer(r: Random) -> str:
    body = f"{r.randrange(40, 99)}{r.randrange(1, 13):02d}{r.randrange(1, 29):02d}{digits(r, 3)}"
    return f"{body[:6]}-{body[6:]}{luhn_digit(body)}"


def _china(r: Random) -> str:
    body = f"3101{digits(r, 2)}19{r.randrange(50, 99)}{r.randrange(1, 13):02d}{r.randrange(1, 29):02d}{digits(r, 3)}"
    weights = (7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2)
    return body + "10X98765432"[sum(int(d) * w for d, w in zip(body, weights, strict=True)) % 11]


def _sin(r: Random) -> str:
    body = digits(r, 8)
    return grouped(body + luhn_digit(body), (3, 3), "-")


IDS: dict[str, Make] = {
    "nino": lambda r: grouped(f"AB{digits(r, 6)}C", (2, 2, 2, 2), r.choice(["", " "])),
    "dni": _dni,
    "cpf": _cpf,
    "avs": _avs,
    "personnummer": _personnummer,
    "china": _china,
    "sin": _sin,
    "bsn": lambda r: f"BSN: «{digits(r, 9)}»",
    "pesel": lambda r: f"PESEL «{digits(r, 11)}»",
    "passport": lambda r: f"passport number «{r.choice('CFGH')}{digits(r, 8)}»",
    "nhs": lambda r: f"NHS number: «{grouped(digits(r, 10), (3, 3), ' ')}»",
}


def street(names: str, *forms: str) -> Make:
    """Forms in which ~ is one of the names, & a digit from 1 to 9 and # any."""

    def make(r: Random) -> str:
        put = {"~": lambda: r.choice(names.split("|")), "&": lambda: r.choice("123456789"), "#": lambda: digits(r, 1)}
        return "".join(put[c]() if c in put else c for c in r.choice(forms))

    return make


ADDRESSES: dict[str, Make] = {
    "en": street("Oak Street|Elm Park Ave|North Hill Road|W 42nd Blvd.|Oak Lane|Elm Drive", "& ~", "&# ~", "&### ~"),
    "en-us": street("Maple Street|Ocean Avenue", "&### ~, Apt 4B, Springfield, IL #####"),
    "en-uk": street("High Street|Mill Lane", "&# ~, London SW1A &AA"),
    "box": street("P.O. Box|PO Box|Postfach|Apartado de Correos|Postbus", "~ &#", "~ &####"),
    "de": street(
        "Hauptstraße|Goethestr.|Lindenweg|Berliner Allee|Karl-Marx-Straße",
        *("~ &, &#### Berlin", "~ &#a, &#### Berlin", "~ && b, &#### Berlin", "~ &#"),
    ),
    "de-old": street("Am Markt|Unter den Linden", "~ &#, &#### Jena"),
    "fr": street("de la Paix|Victor Hugo|du Bac", "&#, rue ~, 75### Paris", "& bis, rue ~, 75### Paris", "&# rue ~"),
    "es": street("Calle de Alcalá|C/ Mayor|Avenida de la Constitución|Plaza Mayor", "~, &#, 28### Madrid", "~ &#"),
    "it": street("Via Roma|Viale della Libertà|Piazza Garibaldi|Corso Vittorio Emanuele", "~ &#, 001## Roma", "~, &#"),
    "nl": street("Keizersgracht|Kerkstraat|Van Baerlestraat", "~ &##, &### AB Amsterdam", "~ &#"),
    "pt": street("Rua Augusta|Avenida da Liberdade|Praça do Comércio", "~, &##, &###-### Lisboa", "~ &#"),
}

URLS: dict[str, Make] = {"url": lambda r: f"ftp://bob:«{some(r, ALNUM, 9)}»@files.example.com/x"}

KINDS: dict[str, dict[str, Make]] = {
    "phone": PHONES,
    "phone-wide": {f"{name}-wide": wide(PHONES[name]) for name in ("phone-us", "phone-e164", "phone-int")},
    "card": CARDS,
    "card-wide": {"visa-wide": wide(CARDS["visa"])},
    "iban": IBANS,
    "iban-wide": {"iban-DE-wide": wide(IBANS["iban-DE"])},
    "ssn": SSNS,
    "ssn-wide": {"ssn-wide": wide(SSNS["ssn"])},
    "ip": IPS,
    "email": EMAILS,
    "email-wide": {"email-wide": wide(EMAILS["email"])},
    "secret": SECRETS,
    "id": IDS,
    "address": ADDRESSES,
    "url": URLS,
}


def made(name: str, make: Make, number: int) -> tuple[str, str]:
    """An identifier as it is written, and the part of it that has to go; the same for the same number."""
    marked = make(Random(f"{name} {number}"))
    before, _, rest = marked.partition("«")
    inside, _, after = rest.partition("»")
    return before + inside + after, inside or before
