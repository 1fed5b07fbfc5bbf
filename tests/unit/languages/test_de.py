"""What is read in German."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.rows import each_row

SENTENCES: dict[str, list[tuple[str, Any]]] = {
    "negated": [
        ("Wer außer Lukas war beim Grillen?", ["Lukas"]),
        ("Wer ausser Lukas war beim Grillen?", ["Lukas"]),
        ("Welche Kuchen ohne Zucker mag Oma?", ["Zucker"]),
        ("Alles zum Umzug, abgesehen von der Küche", ["Küche"]),
        ("Was gibt es Neues? Aber nichts über Politik.", ["Politik"]),
        ("Zeig mir Fotos vom Urlaub, nicht von der Arbeit", ["Arbeit"]),
        ("Mit wem habe ich mich getroffen, ausgenommen meine Eltern und Sven?", ["Eltern", "Sven"]),
        ("Termine im Juni, die nichts mit der Schule zu tun haben", ["Schule"]),
        ("Rezepte, die keine Milch enthalten", ["Milch"]),
        ("Ich suche nicht Peter, sondern Paul. Wo wohnt er?", ["Peter"]),
        ("Bitte ignoriere die alten Rechnungen.", ["alten Rechnungen"]),
        ("Was steht an, außer „Team Meeting“?", ["Team Meeting"]),
        ("Das ist aber nicht mein Problem, oder?", []),
        ("Wer hat verloren und nicht Lisa hat gewonnen?", []),
        ("Wer mag kein Python?", []),
        ("Warum bin ich nicht gegangen?", []),
        ("Niemand außer Sam hat zugesagt, stimmt das?", []),
        ("Ohne Zweifel war das der beste Urlaub, oder?", []),
        ("Ich kann nicht ohne Kaffee arbeiten, wann habe ich das gesagt?", []),
        ("Ist er ohne Anna zu fragen gefahren?", []),
        ("Das war nicht nur Pech, sondern auch Absicht?", []),
        ("Wer ist außer Haus?", []),
        ("Wer hat sich nicht gemeldet?", []),
    ],
    "role": [
        ("Was hat meine Ärztin mir empfohlen?", "user"),
        ("Kannst du mir sagen, wo Anna wohnt?", None),
        ("Was habe ich dir über meine Allergien gesagt?", "user"),
        ("Welches Hotel hast du empfohlen?", "assistant"),
        ("Was haben Sie mir zum Mietvertrag geraten?", "assistant"),
        ("Wann habe ich den Führerschein gemacht?", "user"),
        ("Was hat der Assistent zu Rückenschmerzen gesagt?", "assistant"),
        ("Das Rezept, das du mir gegeben hast", "assistant"),
        ("Wie war dein Vorschlag für den Garten?", "assistant"),
        ("Wie heißt mein Hund?", "user"),
        ("Worüber haben wir gesprochen?", None),
        ("Wo arbeitet Priya?", None),
        ("Was haben sie empfohlen?", None),
    ],
    "session": [
        ("Worum ging es in unserer ersten Sitzung?", (1,)),
        ("Was hast du in unserem dritten Gespräch empfohlen?", (3,)),
        ("Fass unsere letzte Unterhaltung zusammen", (-1,)),
        ("Was haben wir letztes Mal besprochen?", (-1,)),
        ("Was habe ich in Sitzung 16 gesagt?", (16,)),
        ("Was haben wir vor zwei Sitzungen besprochen?", (-2,)),
        ("Was habe ich am Anfang unseres Gesprächs gesagt?", "beginning"),
        ("Was haben wir in unseren letzten drei Gesprächen besprochen?", (-3, -2, -1)),
        ("Was hast du in unserer zweiten Sitzung über Anna gesagt?", (2,)),
        ("Wann war unsere zweite Sitzung über Anna?", None),
        ("Was geschah nach unserem letzten Gespräch mit Tom?", None),
        ("Was sagte mein Therapeut in der dritten Sitzung?", None),
        ("Was habe ich in Sitzung eins gesagt?", (1,)),
        ("Wann war das Vorstellungsgespräch?", None),
        ("Wie haben wir das Gespräch eingeleitet?", None),
        ("Wo war ich letztes Mal im Urlaub?", None),
    ],
    "person": [
        ("Wo bin ich geboren?", "ich"),
        ("Wann treffen wir Anna?", "wir"),
        ("Wer ist meine Ärztin?", "meine"),
        ("Sag mir, wo Anna wohnt", None),
        ("Wann kommt der Zug an?", None),
    ],
    "type": [
        ("Wann war die Hochzeit?", "event"),
        ("Wann wurde das Dach repariert?", "event"),
        ("Was sind meine allgemeinen Vorlieben?", "preference"),
        ("Was sind meine Vorlieben?", "preference"),
        ("Was ist mein Lieblingsfilm?", "preference"),
        ("Wie kann ich Docker installieren?", "skill"),
        ("Gib mir eine Zusammenfassung der Woche", "summary"),
        ("Wie heißt Annas Hund?", None),
    ],
}


@each_row(("kind", "text", "expected"), [(k, *s) for k, rows in SENTENCES.items() for s in rows])
def test_it_reads(read: Callable[[str, str, str], Any], kind: str, text: str, expected: object) -> None:
    assert read("de", kind, text) == expected
