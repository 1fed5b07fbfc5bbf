"""Compare the table of key issuers with the rules of a scanner: print the prefixes that redaction does not know.

Give it a rule file in TOML as gitleaks publishes one (`config/gitleaks.toml`): `rules`, each with `id` and `regex`. Of
a rule whose keys begin with a text of their own, a key is made up by the rule and redacted. Add what is printed to
`issued` in `recall_integrations/privacy/tables.yaml`, and set `as_of` there.

    python scripts/issuers_of_keys.py gitleaks.toml
"""

from __future__ import annotations

import re
import string
import sys
from pathlib import Path
from random import Random

import tomllib

from recall_integrations.privacy.redactor import find

PREFIX = re.compile(
    r"(?:\(\?i\)|\\b|\()*(?P<prefix>[A-Za-z][A-Za-z0-9]{1,11}(?:[_-]|\\\.)(?:[A-Za-z0-9]+[_-])*)"
    r"\(?(?:\[|\(\?i|\\w)"
)
LENGTH = re.compile(r"\{(\d+)(?:,\d*)?\}")


def unknown(rules: list[dict[str, str]]) -> list[tuple[str, str, int]]:
    """Return (rule, prefix, least length) of rules whose keys are not found."""
    r = Random(1)
    missed = []
    for rule in rules:
        match = PREFIX.match(rule.get("regex", ""))
        length = LENGTH.search(rule["regex"], match.end()) if match else None
        if match and length:
            prefix = match["prefix"].replace("\\", "")
            kinds = string.hexdigits[:16] if "a-f0-9]" in rule["regex"] else string.ascii_letters + string.digits
            key = prefix + "".join(r.choice(kinds) for _ in range(int(length[1])))
            if not find(f"x {key} y"):
                missed.append((rule["id"], prefix, int(length[1])))
    return missed


if __name__ == "__main__":
    for name, prefix, length in unknown(tomllib.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))["rules"]):
        print(f"{prefix}  at least {length} characters behind it  ({name})")
