"""What other libraries call valid, our own checks do as well. Skipped where they are not installed."""

from __future__ import annotations

import re
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from random import Random

import pytest

from recall_integrations.privacy import national
from tests.redaction import redact

FORMATS: list[tuple[str, Callable[[str], bool], str]] = [  # # a digit, D a day, M a month, A a letter, C a digit or K
    ("luhn", national.luhn, "################"),
    ("verhoeff", national.verhoeff, "############"),
    ("iban", national.iban_valid, "DE####################"),
    ("ch.ssn", national._avs, "756##########"),
    ("es.dni", national._dni, "########A"),
    ("es.nie", national._nie, "X#######A"),
    ("in_.aadhaar", national._aadhaar, "############"),
    ("se.personnummer", national._nordic, "##MD-####"),
    ("dk.cpr", national._nordic, "DM##-####"),
    ("cz.rc", national._czech, "##MD/####"),
    ("ca.sin", national._sin, "#########"),
    ("cl.rut", national._rut, "##.###.###-C"),
    ("ar.cuit", national._cuit, "20-########-#"),
    ("it.codicefiscale", national._codice_fiscale, "RSSMRA##A01H501A"),
]


def made(r: Random, form: str) -> str:
    ways = {
        "#": lambda: str(r.randrange(10)),
        "D": lambda: f"{r.randrange(1, 29):02d}",
        "M": lambda: f"{r.randrange(1, 13):02d}",
        "A": lambda: r.choice("ABCDEFGHIJKLMNOPQRSTUVWXYZ"),
        "C": lambda: r.choice("0123456789K"),
    }
    fixed = 2 if form[:2] == "DE" else 11 if form.startswith("RSS") else 0
    if fixed == 11:
        return "RSSMRA" + ways["#"]() + ways["#"]() + "A01H501" + ways["A"]()
    return form[:fixed] + "".join(ways[c]() if c in ways else c for c in form[fixed:])


@pytest.mark.parametrize(("module", "check", "form"), FORMATS)
def test_what_stdnum_calls_valid_is(module: str, check: Callable[[str], bool], form: str) -> None:
    pytest.importorskip("stdnum")
    valid = import_module(f"stdnum.{module}").is_valid
    r = Random(module)
    numbers = [n for n in (made(r, form) for _ in range(6_000)) if valid(n)]
    assert len(numbers) > 20
    assert [n for n in numbers if not check(n)] == []


def test_ibans_are_as_long_as_their_registry_says() -> None:
    stdnum = pytest.importorskip("stdnum.iban")
    registry = Path(stdnum.__file__).with_suffix(".dat").read_text()
    lengths = {
        found[1]: 4 + sum(map(int, re.findall(r"(\d+)!", found[2])))
        for found in re.finditer(r'^([A-Z]{2}) .*bban="([^"]*)"', registry, re.MULTILINE)
    }
    assert lengths
    assert {country: national.iban_length(country) for country in lengths} == lengths


def test_numbers_of_every_country_are_found() -> None:
    phones = pytest.importorskip("phonenumbers")
    form = phones.PhoneNumberFormat
    missed = []
    for region in sorted(phones.SUPPORTED_REGIONS):
        number = phones.example_number_for_type(region, phones.PhoneNumberType.MOBILE)
        if number is not None:
            written = [phones.format_number(number, f) for f in (form.E164, form.INTERNATIONAL)]
            missed += [w for w in written if redact(f"so {w} ok")[0] != "so [phone-1] ok"]
    assert len(missed) <= 1, missed  # "+688 90 1234" ends like a date
