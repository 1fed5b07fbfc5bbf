"""Check digits: ISO/IEC 7812 (Luhn), ISO 7064 (mod 97), Verhoeff, and sums with weights.

Each takes digits, or digits and letters, without anything between them.
"""

from __future__ import annotations

from collections.abc import Sequence

_DOUBLED = (0, 2, 4, 6, 8, 1, 3, 5, 7, 9)

# Those of SWIFT's registry, and African countries and Iran, whose banks give out such numbers without being in it.
_IBAN_COUNTRIES = {
    15: "NO",
    16: "BE",
    18: "DK FK FI FO GL NL SD",
    19: "MK SI",
    20: "AT BA EE KZ LT LU MN XK",
    21: "CH HR LI LV",
    22: "BG BH CR DE GB GE IE ME RS VA",
    23: "AE GI IL IQ OM SO TL",
    24: "AD CZ ES MD PK RO SA SE SK TN VG",
    25: "LY PT ST AO CV GW MZ",
    26: "IS TR DZ IR",
    27: "BI DJ FR GR IT MC MR SM CF CG CM GA GQ KM MG TD",
    28: "AL AZ BY CY DO GT HN HU LB NI PL SV BF BJ CI MA ML NE SN TG",
    29: "BR EG PS QA UA",
    30: "JO KW MU YE",
    31: "MT SC",
    32: "LC",
    33: "RU",
}
_IBAN_LENGTHS = {country: length for length, countries in _IBAN_COUNTRIES.items() for country in countries.split()}


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
