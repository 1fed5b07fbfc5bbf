"""What is an identifier and what only looks like one: two tables, and the rules between kinds."""

from __future__ import annotations

from recall_integrations.query.features import CHARS_MAX, Identifier, find_identifiers
from tests.rows import each_row

POSITIVE = [
    ("what about #123", "#123", "reference"),
    ("PR123 broke the build", "PR123", "code"),
    ("see !4410", "!4410", "reference"),
    ("search repo:path for the parser", "repo:path", "reference"),
    ("what does billing:src/main.py do", "billing:src/main.py", "reference"),
    ("acme/web#88 broke", "acme/web#88", "reference"),
    ("open src/app/main.py now", "src/app/main.py", "path"),
    ("what's in /etc/nginx/nginx.conf?", "/etc/nginx/nginx.conf", "path"),
    ("requests to /login", "/login", "path"),
    ("see report_final.pdf, please", "report_final.pdf", "path"),
    ("run ./deploy.sh.", "./deploy.sh", "path"),
    (r"in C:\Users\me\x.txt", r"C:\Users\me\x.txt", "path"),
    ("main.py:42 raises", "main.py:42", "path"),
    ("550e8400-e29b-41d4-a716-446655440000 failed", "550e8400-e29b-41d4-a716-446655440000", "code"),
    ("mail info@example.com.", "info@example.com", "email"),
    ("https://example.com/a?b=1, then", "https://example.com/a?b=1", "url"),
    ("(www.example.org/x).", "www.example.org/x", "url"),
    ("who closed ABC-123?", "ABC-123", "ticket"),
    ("ABC-123's reviewer", "ABC-123", "ticket"),
    ("is 2026-018 paid?", "2026-018", "ticket"),
    ("case 2026/117", "2026/117", "ticket"),
    ("ring 555-0199", "555-0199", "ticket"),
    ("are we hit by CVE-2024-12345", "CVE-2024-12345", "ticket"),
    ("ERR_CONN_RESET again", "ERR_CONN_RESET", "code"),
    ("E1234 on start", "E1234", "code"),
    ("ORA-00942: no table", "ORA-00942", "ticket"),
    ("0x80070005 while updating", "0x80070005", "code"),
    ("new in v2.10?", "v2.10", "code"),
    ("since 1.2.3-rc1", "1.2.3-rc1", "code"),
    ("revert 9fceb02d", "9fceb02d", "code"),
    ("9fceb02d0ae598e95dc970b74767f19372d61af8", "9fceb02d0ae598e95dc970b74767f19372d61af8", "code"),
    ("who uses 10.0.0.12:8080", "10.0.0.12:8080", "code"),
    ("route 2001:db8::8a2e", "2001:db8::8a2e", "code"),
    ("the card 00:1B:44:11:3A:B7", "00:1B:44:11:3A:B7", "code"),
    ("on localhost:8080", "localhost:8080", "reference"),
    ("api.example.com is slow", "api.example.com", "code"),
    ("parse_window fails", "parse_window", "code"),
    ("where is getUserName", "getUserName", "code"),
    ("the LoremIpsumDolor thing", "LoremIpsumDolor", "code"),
    ("os.path.join or not", "os.path.join", "code"),
    ("MemoryStore.open() fails", "MemoryStore.open()", "code"),
    ("std::vector grows", "std::vector", "code"),
    ("call foo() twice", "foo()", "code"),
    ("why __init__", "__init__", "code"),
    ('she said "as soon as possible"', "as soon as possible", "quoted"),
    ("the “blue heron” note", "blue heron", "quoted"),
    ("„grüner Tee“ bitte", "grüner Tee", "quoted"),
    ("「青い鳥」はどこ", "青い鳥", "quoted"),
    ("who wrote 'don't panic'", "don't panic", "quoted"),
    ("请看ERR_CONN_RESET的问题", "ERR_CONN_RESET", "code"),
    ("note id=ABC-123 here", "ABC-123", "ticket"),
]

NEGATIVE = [
    "the budget of 2023-2025",
    "due on 05/06",
    "on 2026-05-01 or in 2026-05",
    "from 100-200 guests",
    "is issue 45 still open",
    "HTTP 502, exit code 137, version 2.10",
    "the acme/web repo",
    "open 24/7, and/or at weekends, he/she said",
    "on 2024-03-12 at 10:30:15",
    "12/03/2024 or 12.03.2024 or 12.03.24 or 2024.3.12",
    "from 5pm - 7pm, at 10:30am",
    "$1,200.50 and €5m and 10k and £30",
    "the 2nd, 1st and 23rd",
    "the '90s and '98",
    "the 90s 4x 50% 3D 24h 100km",
    "B2B P2P H2O CO2 MP3 A4 4K 5G K8s i18n",
    "J.R.R. Tolkien, U.S.A., J. R. Smith",
    "e.g. i.e. a.k.a. a.m. Ph.D. etc.",
    "McDonald MacArthur DeShawn JoAnn LeBron O'Brien",
    "YouTube iPhone GitHub WhatsApp PowerPoint JavaScript",
    "PDFs CEOs URLs",
    "don't y'all like rock 'n' roll",
    "the dogs' owners' house",
    "is it part-time/full-time",
    "fantasy-novel/Drama, Kai-shek/Jiang",
    "client/server, input/output, red/green/blue",
    "full-time/contract work",
    "we're #1",
    "2024",
    "500 people came, 404 of them left",
    "a 450 page book",
    "got 500 dollars",
    "error 2024",
    "zip code 90210, area code 415",
    '5" x 7" photos',
    "Anne-Marie and Jean-Luc",
    "check-in at 9-5, well-known",
    "call 555-1234 or +1 800 555 0199",
    "route I-95, a B-52",
    "we were done.Then we left",
    "etc.and more",
    "Mr.Smith in St.Louis",
    "version of events",
    "1.000.000 euros, 3.14, 2.5",
    "2000000 people, 1234567",
    "1e10 and 10e6",
    "w/o sugar, n/a, I/O, TCP/IP, AC/DC",
    "C++ C# F#",
    "NASA FBI ENOUGH EVERY",
    "note: this: that",
    "an issue 3 days ago, a parking ticket 150 euros",
    ":) ;-) <3 ... ?! -- — / \\ # @ _ ''",
    "@friend in #general",
    "_really_ *bold* ~about~",
    "What did the team decide last week?",
    "日本語のテキスト",
    "",
]


@each_row(("text", "expected", "kind"), POSITIVE)
def test_identifiers(text: str, expected: str, kind: str) -> None:
    start = text.index(expected)
    assert find_identifiers(text) == (Identifier(text=expected, kind=kind, span=(start, start + len(expected))),)


@each_row("text", NEGATIVE)
def test_no_identifiers(text: str) -> None:
    assert find_identifiers(text) == ()


def test_several_in_order() -> None:
    found = find_identifiers("ABC-1/ABC-2, #12,#13 and https://example.com/ABC-9 (see v2.10)")
    assert [i.text for i in found] == ["ABC-1", "ABC-2", "#12", "#13", "https://example.com/ABC-9", "v2.10"]


def test_what_stands_in_a_quotation_is_sharper_than_it() -> None:
    assert [(i.text, i.kind) for i in find_identifiers('"error in ABC-123"')] == [("ABC-123", "ticket")]
    assert [(i.text, i.kind) for i in find_identifiers("'parse_window' fails")] == [("parse_window", "code")]


def test_a_word_nobody_means_is_passed_over() -> None:
    assert find_identifiers("a_" * (CHARS_MAX // 2) + "b") == ()
    assert len(find_identifiers("a_" * (CHARS_MAX // 2 - 1) + "b")) == 1
