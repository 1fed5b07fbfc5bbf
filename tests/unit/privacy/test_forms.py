"""Forms in which people and programs write secrets and personal data: named, broken, encoded, issued."""

from __future__ import annotations

import base64
from datetime import date
from random import Random

from recall_integrations.privacy.normal import table
from tests.planted.identifiers import ALNUM, HEX, LOWER, UPPER, some
from tests.redaction import redact
from tests.rows import each_row

_R = Random(45)
CODE, LONG = "Falke!4711z", some(_R, ALNUM, 40)

NAMED = [
    "**Password:** {}", "Password (temporary): {}", "Password:\n{}", "Password → {}", "| Password | {} |",
    "password has been set to {}", "the password for the router is {}", "use {} as the password", "pw is {}",
    "Das Passwort lautet {}", "Passwort wurde auf {} gesetzt", "a senha é {}", "hasło: {}", "Lösenordet är {}",
    "şifre: {}", "كلمة المرور: {}", "पासवर्ड: {}", "мой пароль {}", "le mot de passe est {}", "mi clave es {}",
    "het wachtwoord is {}", "密码是{}", "パスワードは{}です", "비밀번호는 {} 입니다", "รหัสผ่านคือ {}",
    "<password>{}</password>", '<add key="ApiSecret" value="{}"/>', '<property name="password">{}</property>',
    "<td>Password</td><td>{}</td>", "- name: DB_PASSWORD\n  value: {}", 'user.setPassword("{}")',
    'props.put("password", "{}");', "const password: string = `{}`", "mysql -u root -p{} db",
    "curl -u bob:{} https://h",
    "tool --password {}", "docker login -u bob -p {} r", "ALTER USER bob IDENTIFIED BY '{}'",
    "CREATE ROLE b PASSWORD '{}'",
    "le mot de passe du serveur était {}", "Passwort vom Drucker war {}", "वाईफ़ाई का पासवर्ड है {}", "hasło było {}",
    "the passcode was changed, and it's now {}", "كلمة مرور بريد العمل: {}", "пароль от сервера — {}",
    "wifi parolası: {}",
    "SMTP_PASS={}", "user/pass: admin / {}", "email/pass: anna@example.com / {}",
    "WIFI:T:WPA;S:Our House;P:{};;", 'HTTPBasicAuth("bob", "{}")', "auth=('bob', '{}')",
    "echo {} | sudo -S reboot", "echo '{}' | docker login -u bob --password-stdin", "u: bob p: {}",
    "net use Z: \\\\nas\\share /user:bob {}", "ssh-keygen -t ed25519 -N '{}' -f id", "htpasswd -b f bob {}",
    "login: bob / {}", "password&#58; {}", "password%253D{}", "Pass=\nword: {}", '{{\\"password\\":\\"{}\\"}}',
]  # fmt: skip
LONG_NAMED = [
    "Cookie: PHPSESSID={}; theme=dark", "connect.sid=s%3A{}", "_gitlab_session={}", "ASP.NET_SessionId={}",
    "Ocp-Apim-Subscription-Key: {}", "x-functions-key: {}", "Authorization: {}", "https://h/?subscription-key={}",
]  # fmt: skip
CODES = [
    "the code for the garage is {}", "garage keypad: {}", "code du portail : {}", "código de la puerta: {}", "PUK {}",
    "PIN der Bankkarte ist {}", "код от домофона: {}", "deurcode is {}", "пин-код: {}",
    "Dein Sicherheitscode lautet {}",
]  # fmt: skip
GOES_ON = ["pa&ss1&rd", "ab;c2;ef", "q,w3,e", "it's4me'x", 'a"b5c"d', "a=b6=c", "uv|w7|x"]
PHRASE = "ocean lamp river apple cargo mimic"
PROSE = [
    "the password is the name of the dog", "your token is important", "Password: must contain a digit",
    "Das Passwort ist falsch", "hasło jest za krótkie", "мой пароль не подходит",
    "the PIN has been changed by the bank",
    "Pin 2023 release notes", "password manager is 1Password7", "the password is set to expire on Monday",
    "the password was set to be changed", "the key is set to private", "I set the password to protect it",
    "Das Passwort wurde auf Wunsch geändert", "the pass is at 2500m", "password: it's required",
    "the password has been set to expire in 30 days", "mkdir -p src/main", "ssh -p 2222 host", "key: value",
    "Cookie: chocolate chip, 12 pieces", "session_timeout: 3600", "password: ${DB_PASSWORD}", "code: 404",
    "identified by its number", "The key to success is 3 things", "Flask-Login: 0.6.2",
    "API Key: Make sure to replace it",
    "echo $PASSWORD | sudo -S reboot", "echo hello | grep -S world", 'login("user", "password")', "code postal : 75011",
    "the code for the parser is 1200 lines long", "c'est le code de 2019", "she is (at) home", "a (at) b",
    "passport control took 45 minutes",
    "RFC 2616 and RFC 9110", "VAT 20 percent on 1200", "x² + y² = 25", "12\n34\n56", "route\n@app.route('/x')",
    "token = token.copy()\nresult['pos1']", "2019\n2020\n2021", "since 1970-01-01", "1234\n5678\n9012\n3456",
]  # fmt: skip
FILLED = [
    "password: it's still {}", "Password: it is {}", "Password: is now {}", "password is currently = {}",
    "Passwort: es ist noch {}", "mot de passe : c'est toujours {}", "contraseña: ahora es {}", "the pass is {}",
]  # fmt: skip
WORDS = [
    "The password was set to {}", "The password is set to {}", "The password got set to {}", "password set to {}",
    "the password has been set to {} and it works", "I set the password to {}", "We changed Bob's wifi password to {}.",
    "Passwort wurde auf {} gesetzt", "Das Passwort lautet {} und gilt ab Montag",
]  # fmt: skip
LISTS = [
    ("Passwords: {}, {}", "BlueHeron42", "PineCone77"), ("password is {} or {}", "BlueHeron42", "PineCone77"),
    ("Passwörter: {}, {} und {}", "BlueHeron42", "PineCone77", "GreyOwl55"), ("PINs: {} and {}", "4711", "9931"),
    ("my PIN is {}, Anna's is {}", "4711", "9931"), ("the PINs are {}, {}, and {}", "4711", "9931", "8820"),
    ("password='{}', '{}'", "abc123", "def456"), ("password is {}, order AB1234 shipped", "BlueHeron42"),
    ("my PIN is {}, 2019 was better", "4711"), ("the PIN is {} and the year is 2019", "4711"),
]  # fmt: skip
BROKEN = [
    ("card 4111 11{}11 1111 1111", "[card-1]"), ("card 41111111{}11111111 x", "[card-1]"),
    ("IBAN DE89 3704 00{}44 0532 0130 00", "[iban-1]"), ("call +49 170 12{}34567", "[phone-1]"),
    ("call (415){} 555-2671", "[phone-1]"), ("to priya@{}example.com", "[email-1]"), ("to priya@exam{}ple.com",
    "[email-1]"),
    ("SSN 123-{}45-6789", "[ssn-1]"), ("DNI 123456{}78Z", "[id-1]"),
    ("it is sk-proj-a1B2c3D4e5F6{}g7H8i9J0k1L2 ok", "[secret-1]"),
]  # fmt: skip
ENCODED = [
    ("4111<b>1111</b>11111111", "[card-1]"), ("④①①① ①①①① ①①①① ①①①①", "[card-1]"), ("⁴¹¹¹¹¹¹¹¹¹¹¹¹¹¹¹", "[card-1]"),
    ("priya&commat;example.com", "[email-1]"), ("priya%2540example.com", "[email-1]"), ("priya=40example.com",
    "[email-1]"),
    ("priya<b>@</b>example.com", "[email-1]"), ("priya [at] example [dot] com", "[email-1]"),
    ("priya(at)mail.example(punkt)com", "[email-1]"), ("priya {AT} example.com", "[email-1]"),
    ("priya&amp;#64;example.com", "[email-1]"),
    ("=34=31=31=31=31=31=31=31=31=31=31=31=31=31=31=31", "[card-1]"),
]  # fmt: skip
PHONES = [
    "https://wa.me/{}", "tel:{}", "sms:{}", "api.whatsapp.com/send?phone={}", "imessage://{}", "[call](tel:{})",
]  # fmt: skip
TAX = [
    "USt-IdNr.: DE405501588", "EIN: 89-4429923", "P.IVA: 80846070272", "RFC: VECJ880326XK4", "NIP: 401-633-18-96",
    "BTW-nummer: NL858025062B01", "纳税人识别号：91861672MA1K4B3313", "vergi no: 8232435517", "ABN 51 824 753 556",
    "my tax code is 6326400347", "Reisepass-Nr. C4VMKR0L3", "Ausweisnummer T220001293", "Führerschein: B072RRE2I55",
    "SIREN 732 829 320", "КПП 796205769", "numéro fiscal : 1234567890123",
]  # fmt: skip
# Of issuers of the last two years: made here, so that nobody's scanner takes them for live ones.
ISSUED = [
    "pcsk_" + some(_R, ALNUM, 60), "fw_" + some(_R, ALNUM, 24), "napi_" + some(_R, LOWER, 64),
    "polar_oat_" + some(_R, ALNUM, 40),
    "xkeysib-" + some(_R, HEX, 64), "pat" + some(_R, ALNUM, 14) + "." + some(_R, HEX, 64), "sqp_" + some(_R, HEX, 40),
    "API-" + some(_R, UPPER, 26), "abc8Q~" + some(_R, ALNUM, 34), "sha256~" + some(_R, ALNUM, 43),
    "n8n_api_" + some(_R, ALNUM, 40),
    some(_R, ALNUM, 52) + "JQQJ99" + some(_R, ALNUM, 26), "newissuer_live_" + some(_R, ALNUM, 36),
    "4b1d" + some(_R, ALNUM, 38), "vercel_blob_rw_" + some(_R, ALNUM, 16) + "_" + some(_R, ALNUM, 30),
    "ATATT3xF" + some(_R, ALNUM, 180) + "=" + some(_R, "0123456789ABCDEF", 8),
    "sntrys_" + some(_R, ALNUM + "+/", 90) + "=_" + some(_R, ALNUM + "+/", 43),
    "AAAA" + some(_R, ALNUM, 7) + ":APA91b" + some(_R, ALNUM, 134),
]  # fmt: skip


@each_row("text", NAMED)
def test_what_a_word_names_is_hidden(text: str) -> None:
    assert CODE not in redact(text.replace("{}", CODE))[0]


@each_row("text", CODES)
def test_codes_of_digits_are_hidden_behind_their_names(text: str) -> None:
    for code in ("482 911", "48291"):
        assert redact(text.replace("{}", code))[0] == text.replace("{}", "[secret-1]")


@each_row("text", FILLED)
def test_words_before_a_value_are_passed_over(text: str) -> None:
    assert redact(text.replace("{}", CODE))[0] == text.replace("{}", "[secret-1]")


@each_row("text", WORDS)
def test_a_word_that_a_password_was_set_to_is_hidden(text: str) -> None:
    assert redact(text.replace("{}", "swordfish"))[0] == text.replace("{}", "[secret-1]")


@each_row("row", [(row,) for row in LISTS])
def test_the_further_values_of_a_list_are_hidden(row: tuple[tuple[str, ...]]) -> None:
    text, *values = row[0]
    wanted = text.format(*(f"[secret-{i}]" for i in range(1, len(values) + 1)))
    assert redact(text.format(*values)) == (wanted, len(values))


@each_row("text", LONG_NAMED)
def test_session_cookies_and_headers_are_hidden(text: str) -> None:
    assert LONG not in redact(text.replace("{}", LONG))[0]


@each_row("value", GOES_ON)
def test_a_value_runs_to_its_end(value: str) -> None:
    for text in ("password: {}", "DB_PASSWORD={} # x", "the password is {}"):
        assert redact(text.format(value))[0] == text.format("[secret-1]")


@each_row("text", ["Seed phrase: {}", "my passphrase is {}", 'mnemonic = "{}"'])
def test_a_phrase_of_words_is_hidden(text: str) -> None:
    assert PHRASE.split()[3] not in redact(text.replace("{}", PHRASE))[0]


@each_row("text", PROSE)
def test_prose_about_secrets_and_columns_of_numbers_stay(text: str) -> None:
    assert redact(text) == (text, 0)


@each_row(("text", "token"), BROKEN)
def test_a_value_goes_on_behind_a_line_break(text: str, token: str) -> None:
    for line_break in ("\n", "\r\n", "\n    ", "\n> ", "=\n", "<br>"):
        found, count = redact(text.replace("{}", line_break))
        assert (token in found, count) == (True, 1), found


def test_lines_that_only_follow_are_left() -> None:
    assert redact("call +49 170 1234567\n2024 was fun")[0] == "call [phone-1]\n2024 was fun"
    assert redact("Bob\nalice@example.com\n12 eggs")[0] == "Bob\n[email-1]\n12 eggs"


@each_row(("text", "token"), ENCODED)
def test_a_value_is_found_in_its_encoding(text: str, token: str) -> None:
    assert redact(f"x {text} y")[0] == f"x {token} y"


@each_row("inner", ["OPENAI_API_KEY=sk-proj-" + LONG, '{"password": "Falke!4711z"}', "glpat-" + LONG[:20]])
def test_a_key_in_base64_is_hidden(inner: str) -> None:
    written = base64.b64encode(inner.encode()).decode()
    assert redact(f"data: {written} end")[0] == "data: [secret-1] end"


@each_row("text", PHONES)
def test_links_to_phones_are_hidden(text: str) -> None:
    assert "447696508839" not in redact(text.replace("{}", "447696508839"))[0]


@each_row("text", ["Ivan {}", "李雷 {}", "his is {} ok", "{},王"])
def test_mobile_numbers_of_china_and_russia_need_no_word(text: str) -> None:
    for number in ("13812345678", "89195986057", "79195986057"):
        assert redact(text.replace("{}", number)) == (text.replace("{}", "[phone-1]"), 1)
        assert redact(f"order {number}")[1] == 0


@each_row("text", TAX)
def test_tax_numbers_are_hidden_behind_their_names(text: str) -> None:
    out, count = redact(text)
    assert count == 1 and not any(c.isdigit() for c in out.replace("-1]", ""))


@each_row("key", ISSUED)
def test_keys_of_new_issuers_are_hidden(key: str) -> None:
    assert redact(f"found {key} in it")[0] == "found [secret-1] in it"


def test_the_table_of_issuers_is_not_old() -> None:
    days = (date.today() - date.fromisoformat(table("as_of")["issued"])).days
    assert days < 400, f"The table of issuers is {days} days old: compare it by scripts/issuers_of_keys.py."


@each_row("text", ["For booking: {}", "Thanks for the order!\n{}", "Ask Tom about the article: {}"])
def test_a_phone_number_is_hidden_behind_any_word(text: str) -> None:
    assert redact(text.format("415 555 2671"))[0] == text.format("[phone-1]")
