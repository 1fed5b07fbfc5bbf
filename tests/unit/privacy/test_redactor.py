from __future__ import annotations

import json
import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timezone

import pytest

from recall_integrations.errors import InvalidArgument
from recall_integrations.privacy.door import Door, check_mode
from recall_integrations.privacy.redactor import Redactor
from recall_integrations.types import Memory, Relation
from tests.redaction import redact
from tests.rows import each_row

REDACTED = [
    ("RG 12345678, mine", "RG [id-1], mine"),
    ("mail priya+x@example.co.uk now", "mail [email-1] now"),
    ("<priya@example.com>", "<[email-1]>"),
    ("priya＠example．com", "[email-1]"),
    ("call 555-123-4567", "call [phone-1]"),
    ("(555) 123-4567 12:30", "[phone-1] 12:30"),
    ("555.123.4567", "[phone-1]"),
    ("1-800-555-1234", "[phone-1]"),
    ("+44 20 7946 0958", "[phone-1]"),
    ("+4915112345678", "[phone-1]"),
    ("0044 20 7946 0958", "[phone-1]"),
    ("089 123456789", "[phone-1]"),
    ("0171/1234567", "[phone-1]"),
    ("06 12 34 56 78", "[phone-1]"),
    ("06.12.34.56.78", "[phone-1]"),
    ("call me on 5551234567", "call me on [phone-1]"),
    ("123-45-6789", "[ssn-1]"),
    ("000-12-3456", "[ssn-1]"),
    ("SSN: 123456789", "SSN: [ssn-1]"),
    ("4111 1111 1111 1111 12/27", "[card-1] 12/27"),
    ("12 4111-1111-1111-1111", "12 [card-1]"),
    ("378282246310005", "[card-1]"),
    ("DE89 3704 0044 0532 0130 00 and more", "[iban-1] and more"),
    ("gb82west12345698765432", "[iban-1]"),
    ("电话+8613800138000。卡4111111111111111是", "电话[phone-1]。卡[card-1]是"),
    ("服务器10.0.0.1的", "服务器[ip-1]的"),
    ("SSN123-45-6789x", "SSN[ssn-1]x"),
    ("10.0.0.1 and 192.168.1.254/24", "[ip-1] and [ip-2]/24"),
    ("2001:db8::1, ::1", "[ip-1], [ip-2]"),
    ("sk-abcdefghijklmnop1234567", "[secret-1]"),
    ("sk-proj-abc_def-ghijklmnop", "[secret-1]"),
    ("ghp_abcdefghijklmnopqrstuvwxyz0123456789", "[secret-1]"),
    ("AKIAIOSFODNN7EXAMPLE", "[secret-1]"),
    ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.abc-def_", "[secret-1]"),
    ("Authorization: Bearer abcdef1234567890abcd", "Authorization: [secret-1]"),
    ("-----BEGIN RSA PRIVATE KEY-----\nMIIabc\n-----END RSA PRIVATE KEY-----x", "[secret-1]x"),
    ("-----BEGIN PRIVATE KEY-----\nMIIabc cut off", "[secret-1]"),
    ("password: hunter2", "password: [secret-1]"),
    ('{"api_key": "abcd-efgh"}', '{"api_key": "[secret-1]"}'),
    ("my wifi password is hunter2", "my wifi password is [secret-1]"),
    ("GET /x?api_key=abcd1234&y=1", "GET /x?api_key=[secret-1]&y=1"),
    ("https://bob:pw@host/x?y", "[url-1]"),
    ("postgres://u:p/w@db:5432/x", "[url-1]"),
    ("https://ghtoken@host/repo.git", "[url-1]"),
    ("10:30 - Priya:415-555-2671", "10:30 - Priya:[phone-1]"),
    ("((415) 555-2671)", "([phone-1])"),
    ("+1 415 555 2671 12:30", "[phone-1] 12:30"),
    ("+44 20 7946 0958 2024-05-12", "[phone-1] 2024-05-12"),
    ("415\u00a0555\u00a02671 and 415\t555\t2671", "[phone-1] and [phone-1]"),
    ("415\u2011555\u20112671", "[phone-1]"),
    ("４１５－５５５－２６７１", "[phone-1]"),
    ("٤١٥-٥٥٥-٢٦٧١", "[phone-1]"),
    ("tel%3A+14155552671&x=a%40b.com", "tel%3A[phone-1]&x=[email-1]"),
    ("415&nbsp;555&nbsp;2671", "[phone-1]"),
    ("meine Handynummer ist 15112345678", "meine Handynummer ist [phone-1]"),
    ('{"mobile": "4155552671"}', '{"mobile": "[phone-1]"}'),
    ("4111-1111-1111-1111 and 4111\u00a01111\u00a01111\u00a01111", "[card-1] and [card-1]"),
    ("DE89370400440532013000,DE89 3704 0044 0532 0130 00", "[iban-1],[iban-1]"),
    ("o'hara@example.com, O'Hara@Example.com", "[email-1], [email-1]"),
    ("邮箱priya@example.com是", "邮箱[email-1]是"),
    ("_priya@example.com_", "_[email-1]_"),
    ("http://10.0.0.1/x", "http://[ip-1]/x"),
    ("addr:2001:db8::1", "addr:[ip-1]"),
    ("my password is 'hunter2'.", "my password is '[secret-1]'."),
    ('"password": "correct horse battery staple"', '"password": "[secret-1]"'),
    ("I live at 42 oak street", "I live at [address-1]"),
    ("come to 221B Baker Street, London NW1 6XE now", "come to [address-1] now"),
    ("Meet me at 12 Oak Road. Then 14 Elm St.", "Meet me at [address-1]. Then [address-2]"),
    ("PESEL: 44051401359, BSN 111222333", "PESEL: [id-1], BSN [id-2]"),
    ("NINO AB 12 34 56 C", "NINO [id-1]"),
    ("[2024-05-12] 123.456.789-09", "[2024-05-12] [id-1]"),
    ("ip ==192.168.17.44", "ip ==[ip-1]"),
    ("v192.168.17.44, build 192.168.1.10", "v[ip-1], build [ip-2]"),
    ("$(415) 555-2671", "$[phone-1]"),
    ("$020 7946 0958", "$[phone-1]"),
    ("+14155552671:2024-03-12", "[phone-1]:2024-03-12"),
    ("::2001:db8:85a3::8a2e:370:7334", "::[ip-1]"),
    ("4111_1111_1111_1111", "[card-1]"),
    ("pass: swordfish", "pass: [secret-1]"),
    ("api key abcd1234efgh5678", "api key [secret-1]"),
    ("otp 482113", "otp [secret-1]"),
    ("123-45-678910:30", "[ssn-1]10:30"),
    ("20%4111 1111 1111 1111", "20%[card-1]"),
    ("%5500005555555559", "%[card-1]"),
    ("100%415-555-2671", "100%[phone-1]"),
    ("20%4111%201111%201111%201111", "20%[card-1]"),
    ("%34111 1111 1111 1111 and %34%31%31%31 1111 1111 1111", "[card-1] and [card-1]"),
    ("\\x204111111111111111", "\\x20[card-1]"),
    ("%0A4111111111111111", "%0A[card-1]"),
    ("4111 1111 1111 1111\u200b2024", "[card-1]\u200b2024"),
    ("4111\u200b1111\u200b1111\u200b1111", "[card-1]"),
    ("x\u200bsk-proj-abcdEFGH1234ijklMNOP", "x\u200b[secret-1]"),
]

KEPT = [
    "on 2024-05-01 at 10:30:00",
    "2024-05-01T10:30:00.123456+02:00",
    "2024-05-01 10:30 until 2024-05-02 11:45",
    "2024/05/01, 2024-05 and 20240501",
    "1/2/2024 and 01.02.2024 and 01-02-2024 1030",
    "1990-1995, 2000-2005",
    "2019 2020 2021 2022 2023",
    "v1.2.3, 1.2.3.4.5, version 1.2.3.4, v1.2.3.4, requests==2.31.0.1",
    "Chrome/120.0.6099.109",
    "550e8400-e29b-41d4-a716-446655440000",
    "12345678-1234-1234-1234-123456789012",
    "41111111-1111-1111-4111-111111111111",
    "1,234,567.89 and 1 234 567 890",
    "1700000000 1700000000000 1700000000000000000",
    "3.14159265358979 and 0.123456789 and 1.5e-10",
    "order 1234567890",
    "$5551234567 and #1234567",
    "1000-2000-3000",
    "ISBN 978-3-16-148410-0",
    "4111 1111 1111 1112",
    "DE89370400440532013001",
    "https://www.npmjs.com/package/@types/node",
    "https://example.com/@sam http://h:8080/p/@x",
    "std::vector and a::b at 10:30:00",
    "@sam at work, sam@work",
    "the secret is out; the password is stored in the vault",
    "token count: 12",
    "a sk-ill, ask-me-anything-you-want-today",
    "Chapters 10 11 12 13 14 15 16",
    "300.300.300.300",
    "$415.50, 3.50 € and 1,250,000",
    "we won 3-2, then 21-19 21-17",
    "2 way street, 10 minutes down the road, a 5 mile drive",
    "iPad 2, Heidelberg 2024, Ensuring 100% of it",
    "chapter 4 5 6 7 8 9 10 11 12 13 14 15 16 17",
    "37.7749, -122.4194 and 37.774929,-122.419416",
    "api_key = os.getenv('OPENAI_API_KEY')",
    "password = request.form['password']",
    'token="YOUR_TOKEN"',
    "appointment number is 20250330",
    "your order #0924123456 is paid",
    "commit 9fceb02d0ae598e95dc970b74767f19372d61af8",
    "bind 0.0.0.0, mask 255.255.255.0",
    "1920x1080, 4K, 128GB, 5.6.7-rc1",
    "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "2025-01-02 10:30:00 - 2025-01-02 17:45:00",
    "[phone-1] and [secret-12]",
    "password: [secret-1]",
    "the 2025 Max Pure Electric Rear-Wheel Drive",
    "via email 5 times, avenue of 3 trees",
    "nginx 1.25.3.1, kernel 5.15.0.91, section 4.1.2.3",
    "Chrome/10.0.0.1, Chrome/127.0.0.0",
    "2024 03 12 14 30 00 it broke",
    "USD 4500 4600 4700",
    "see you via Zoom 2024, am Platz 5",
    "x[::2] and p[1::3]",
    "file me@2x.png",
    "zip 02110-1301, Boston, MA 02110-1301",
    "hf_raise_for_status(r)",
    "boarding pass: gate 5, the api key is needed",
    "",
]


IBANS = (  # of countries that are not in SWIFT's registry: examples that their banks and iban.com give
    "AO06004400006729503010102 BF42BF0840101300463574000390 BJ66BJ0610100100144390000769 CF4220001000010120069700160 "
    "CG3930011000101013451300019 CI93CI0080111301134291200589 CM2110002000300277976315008 CV64000500000020108215144 "
    "DZ580002100001113000000570 GA2140021010032001890020126 GQ7050002001003715228190196 GW04GW1430010181800637601 "
    "IR710570029971601460641001 KM4600005000010010904400137 MA64011519000001205000534921 MG4600005030071289421016045 "
    "ML13ML0160120102600100668497 MZ59000301080016367102371 NE58NE0380100100130305000268 SN08SN0100152000048500003035 "
    "TD8960002000010271091600153 TG53TG0090604310346500400070"
).split()


@each_row("iban", IBANS)
def test_ibans_of_countries_outside_the_registry(iban: str) -> None:
    apart = " ".join(iban[i : i + 4] for i in range(0, len(iban), 4))
    assert redact(f"pay {iban} or {apart} now")[0] == "pay [iban-1] or [iban-1] now"


@each_row(("text", "expected"), REDACTED)
def test_personal_data_and_secrets_become_tokens(text: str, expected: str) -> None:
    found, count = redact(text)
    assert found == expected
    assert count == expected.count("[") - text.count("[")


@each_row("text", KEPT)
def test_what_is_none_stays(text: str) -> None:
    assert redact(text) == (text, 0)


@each_row("text", [t for t, _ in REDACTED])
def test_redacting_again_changes_nothing(text: str) -> None:
    once, _ = redact(text)
    assert redact(once) == (once, 0)


@each_row("around", ["{}", "({})", '"{}"', "x {}, y", "x\n{}\ny", "é {} é", "{}.", "<{}>"])
@each_row("secret", ["a.b@example.org", "555-123-4567", "123-45-6789", "4111111111111111", "10.1.2.3"])
def test_punctuation_around_does_not_hide_it(around: str, secret: str) -> None:
    text, count = redact(around.format(secret))
    assert secret not in text
    assert count == 1


@pytest.mark.sweep(every=5)
@pytest.mark.parametrize(
    "piece",
    [
        "a",
        "a.",
        "a@",
        "a@a.",
        "1",
        "1 ",
        "1-",
        "1.",
        "+1",
        "(",
        "a:",
        "::",
        "http://",
        "http://a:",
        "eyJaaaaaa.",
        "sk-",
        "password: x",
        "-----BEGIN PRIVATE KEY-----",
        "DE8",
        "0 ",
        "call ",
        "4111 ",
        "2024-",
        "5551234567 ",
        "+",
        "@",
        "-",
        "[[(",
        "eyJ-",
        "12 ",
        "1 2 3 4 ",
        "://",
        "_",
        "%40",
        "\u200b",
        "1\u200b ",
        "12 Oak ",
        "weg 1 ",
        "Via A ",
        "-----BEGIN RSA PRIVATE KEY----- ",
        "my number is ",
        "fe80:",
        "AB 12 ",
        "key a1",
        "[phone-1] ",
        "key=",
        "sess",
        "12\n34\n",
        "a@b\n",
        "<b>",
        "use x as ",
        "password for ",
        "mysql ",
        "ab1_",
        "aGVsbG8g",
    ],
)
def test_the_cost_is_linear_on_repetition(piece: str, linear: Callable[..., None]) -> None:
    linear(redact, piece, whole=100_000)


def test_modes() -> None:
    assert [check_mode(m) for m in ("allow", "redact", "block")] == ["allow", "redact", "block"]
    for bad in ("ALLOW", "", None, 1, ["allow"]):
        with pytest.raises(InvalidArgument, match="allow, redact, block"):
            check_mode(bad)


MAIL = "priya@example.com"
AT = datetime(2024, 5, 1, tzinfo=timezone.utc)
MEMORY = Memory(
    f"write to {MAIL}",
    id="m1",
    type="fact",
    actor=MAIL,
    channel=MAIL,
    event_at=AT,
    created_at=AT,
    importance=0.7,
    entities=[MAIL, "Project Kestrel"],
    relations=[Relation(MAIL, "mails", MAIL, 0.5)],
    thread=f"dm {MAIL}",
    position=3,
    refs=[f"mailto:{MAIL}", "doc:handbook.md"],
    metadata={"a": {MAIL: [MAIL, 4111111111111111, 7, None, True]}, "password": "x", "phone": 5551234, "pin": 1234},
)


def apply(memory: Memory, mode: str) -> Memory:
    return Door(mode).memory(memory)


def text_of(memory: Memory) -> str:
    parts = [getattr(memory, name) for name in Memory.__dataclass_fields__ if name != "metadata"]
    return repr(parts) + json.dumps(memory.metadata)


def test_allow_is_the_memory_itself() -> None:
    assert apply(MEMORY, "allow") is MEMORY


def test_redact_reaches_every_field() -> None:
    seen = apply(MEMORY, "redact")
    assert MAIL not in text_of(seen)
    assert "4111" not in text_of(seen)
    assert seen.text == "write to [email-1]"
    assert seen.entities == ("[email-1]", "Project Kestrel")
    assert seen.relations == (Relation("[email-1]", "mails", "[email-1]", 0.5),)
    assert seen.refs == ("mailto:[email-1]", "doc:handbook.md")
    assert seen.metadata == {
        "a": {"[email-1]": ["[email-1]", "[card-1]", 7, None, True]},
        "password": "[secret-1]",
        "phone": "[phone-1]",
        "pin": "[secret-2]",
    }
    assert (seen.id, seen.type, seen.event_at, seen.importance, seen.position) == ("m1", MEMORY.type, AT, 0.7, 3)


def test_block_leaves_no_words() -> None:
    seen = apply(MEMORY, "block")
    assert (seen.text, seen.actor, seen.channel, seen.entities, seen.relations) == ("", None, None, (), ())
    assert seen.metadata == {}
    assert (seen.id, seen.type, seen.event_at, seen.created_at, seen.position) == ("m1", MEMORY.type, AT, AT, 3)
    assert seen.refs == ("mailto:[email-1]", "doc:handbook.md")
    assert seen.thread == "dm [email-1]"


def test_the_stored_memory_is_not_touched() -> None:
    before = text_of(MEMORY)
    apply(MEMORY, "redact")
    apply(MEMORY, "block")
    assert text_of(MEMORY) == before


def test_a_fact_in_metadata_is_hidden_as_its_slot_says() -> None:
    fact = {"slot": "phone_number", "value": "555-0101", "subject": "Priya"}
    other = {"slot": "wifi password", "value": "tulip44", "instead_of": "tulip43"}
    found = apply(Memory("x", metadata={"fact": [fact, other]}), "redact").metadata["fact"]
    assert found[0] == {**fact, "value": "[phone-1]"}
    assert found[1]["value"] == "[secret-1]" and found[1]["instead_of"] == "[secret-2]"
    plain = {"fact": {"slot": "home", "value": "Lisbon"}}
    assert apply(Memory("x", metadata=plain), "redact").metadata == plain


def test_metadata_keys_that_become_equal_keep_their_values() -> None:
    memory = Memory("x", metadata={"a@example.com": 1, "b@example.com": 2})
    assert sorted(apply(memory, "redact").metadata.values()) == [1, 2]


@each_row("key",
    ["password", "db_password", "accessToken", "privateKey", "authToken", "clientSecret", "x-api-key", "DB_PASSWORD",
     "APIKey", "service.api.key", "password2", "api_key_prod", "refresh_token", "Set-Cookie"])  # fmt: skip
def test_keys_that_name_secrets_hide_them(key: str) -> None:
    assert apply(Memory("x", metadata={"a": {key: "swordfish"}}), "redact").metadata == {"a": {key: "[secret-1]"}}


@each_row("key", ["phone", "mobile_phone", "contactPhone", "phone ", "home-phone", "phone_2", "phoneNumber"])
def test_keys_that_name_phones_hide_them_at_any_depth(key: str) -> None:
    for value in ("4155552671", 4155552671):
        found = apply(Memory("x", metadata={key: {"home": [value], "model": "X 2000", "ext": 12}}), "redact").metadata
        assert list(found.values()) == [{"home": ["[phone-1]"], "model": "X 2000", "ext": 12}]


def test_what_a_nested_social_security_number_is_called_does_not_matter() -> None:
    memory = Memory("x", metadata={"ssn": {"value": 123456789, "checked_at": "2024-05-12"}, "userSSN": "123456789"})
    assert apply(memory, "redact").metadata == {
        "ssn": {"value": "[ssn-1]", "checked_at": "2024-05-12"},
        "userSSN": "[ssn-1]",
    }


def test_keys_that_only_speak_of_secrets_keep_their_values() -> None:
    metadata = {"token_count": 5120, "max_tokens": 4096, "phone_model": "X 20000", "password_changed_at": "2024-05-12",
                "has_password": True, "eos_token": "</s>", "secret": False, "password": "2024-05-12T10:30:00Z",
                "token": 12, "phones_sold": 45000,
                "headphones": "20000 Hz", "keyboard": "qwerty", "primary_key": "row"}  # fmt: skip
    assert apply(Memory("x", metadata=metadata), "redact").metadata == metadata


def test_the_same_value_has_one_number_within_a_redactor() -> None:
    redactor = Redactor()
    assert redactor.text("415-555-2671, 415-555-2672") == "[phone-1], [phone-2]"
    assert redactor.text("+1 (415) 555-2672 or a@example.com") == "[phone-2] or [email-1]"
    assert redactor.memory(Memory("A@Example.com", metadata={"phone": 4155552671})).metadata == {"phone": "[phone-1]"}
    assert redactor.text("a@example.com") == "[email-1]"
    assert redactor.counts == {"phone": 4, "email": 3}
    assert Redactor().text("415-555-2672") == "[phone-1]"


def test_threads_share_the_numbers() -> None:
    redactor = Redactor()
    texts = [f"+1 415 555 {n:04d}" for n in range(200)]
    with ThreadPoolExecutor(8) as pool:
        first = list(pool.map(redactor.text, texts))
        assert list(pool.map(redactor.text, texts)) == first
    assert sorted(first) == sorted(f"[phone-{n}]" for n in range(1, 201))


def test_what_is_redacted_stays_whoever_redacts_it() -> None:
    once = Redactor().memory(MEMORY)
    assert Redactor().memory(once) == once


def own(**patterns: str) -> Redactor:
    return Redactor([(name, re.compile(pattern)) for name, pattern in patterns.items()])


def test_own_patterns_come_first() -> None:
    redactor = own(badge=r"B-\d{3}", own="kestrel")
    assert redactor.text("B-123, kestrel, B-124, B-123, 415-555-2671") == (
        "[badge-1], [own-1], [badge-2], [badge-1], [phone-1]"
    )
    assert redactor.text("[badge-1], [own-1]") == "[badge-1], [own-1]"
    assert own(all=r"\w*").text("a b") == "[all-1] [all-2]"


def test_whatever_own_patterns_do_ours_have_looked_at_what_is_returned() -> None:
    """A pattern that asks for the placeholder before it takes one word a round."""
    chain = own(x=r"(?:^|(?<=\] ))[a-z]+(?= )")
    assert "4111" not in chain.text("one two three four five six seven eight nine ten card 4111 1111 1111 1111 end")
    assert "card" in chain.counts


def test_a_placeholder_in_a_text_shields_nothing_from_own_patterns() -> None:
    falcon = own(x=r"Falcon[^.]*")
    assert falcon.text("Falcon budget [card-1] is 5M. So") == "[x-1][card-1][x-2]. So"
    assert falcon.text("Falcon [card-1] [ip-1]") == "[x-3][card-1] [ip-1]"
    everything = own(x=r".+")
    once = everything.text("a [card-1], [phone-2] b")
    assert once == "[x-1][card-1], [phone-2][x-2]"
    assert everything.text(once) == once


def test_withheld_is_what_block_leaves() -> None:
    assert Redactor().withheld(MEMORY) == apply(MEMORY, "block")
