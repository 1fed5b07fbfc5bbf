"""What is read in Italian."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.rows import each_row

SENTENCES: dict[str, list[tuple[str, Any]]] = {
    "negated": [
        ("Chi è venuto alla festa tranne Marco?", ["Marco"]),
        ("Quali ricette senza uova ho salvato?", ["uova"]),
        ("Che libri ho letto oltre a quelli di Eco?", ["Eco"]),
        ("Tutto sul trasloco, eccetto la cucina", ["cucina"]),
        ("Piatti che non contengano glutine", ["glutine"]),
        ("Cerco appunti su Java, non su Python", ["Python"]),
        ("I miei viaggi, ma non quello di Roma", ["Roma"]),
        ("Progetti che non abbiano niente a che fare con l'università", ["università"]),
        ("Per favore, ignora le fatture", ["fatture"]),
        ("Chi viene a cena a parte Anna e Luca?", ["Anna", "Luca"]),
        ("Quali dolci senza latte di mucca mi hai consigliato?", ["latte di mucca"]),
        ("Chi non mangia carne?", []),
        ("Perché non sono andato alla festa?", []),
        ("Nessuno tranne Sara lo sa, vero?", []),
        ("È partito senza avvisare?", []),
        ("È senza dubbio il viaggio migliore, qual era?", []),
        ("Non posso vivere senza caffè, quando l'ho detto?", []),
        ("Non solo Python ma anche Go", []),
        ("Cosa ho comprato oltre a questo?", []),
    ],
    "role": [
        ("Cosa ti ho detto sulle mie allergie?", "user"),
        ("Quale albergo mi hai consigliato?", "assistant"),
        ("Quando ho comprato la macchina?", "user"),
        ("Cosa ha detto l'assistente sul contratto?", "assistant"),
        ("La ricetta che mi hai dato", "assistant"),
        ("Qual era il tuo consiglio per il giardino?", "assistant"),
        ("Come si chiama il mio cane?", "user"),
        ("Di cosa abbiamo parlato ieri?", None),
        ("Dove lavora Priya?", None),
    ],
    "session": [
        ("Di cosa abbiamo parlato nella nostra terza conversazione?", (3,)),
        ("Cosa mi hai consigliato nella nostra prima sessione?", (1,)),
        ("Riassumi la nostra ultima chiacchierata", (-1,)),
        ("Di cosa abbiamo discusso l'ultima volta?", (-1,)),
        ("Cosa ho detto nella sessione 12?", (12,)),
        ("Di cosa abbiamo parlato due sessioni fa?", (-2,)),
        ("Cosa ho detto all'inizio della nostra conversazione?", "beginning"),
        ("Cosa ha detto il mio terapeuta nella terza sessione?", None),
        ("Quando è stata l'ultima volta che sono andato a Roma?", None),
    ],
    "person": [
        ("Dove lavoro io?", "io"),
        ("Chi è il mio medico?", "mio"),
        ("Dove abita nostra nonna?", "nostra"),
        ("Dimmi dove abita Anna", None),
        ("A che ora arriva il treno?", None),
    ],
    "type": [
        ("Quando è stato il matrimonio?", "event"),
        ("Quali sono le mie preferenze?", "preference"),
        ("Qual è il mio film preferito?", "preference"),
        ("Come posso installare Docker?", "skill"),
        ("Fammi un riassunto della settimana", "summary"),
        ("Come si chiama il cane di Anna?", None),
    ],
}


@each_row(("kind", "text", "expected"), [(k, *s) for k, rows in SENTENCES.items() for s in rows])
def test_it_reads(read: Callable[[str, str, str], Any], kind: str, text: str, expected: object) -> None:
    assert read("it", kind, text) == expected
