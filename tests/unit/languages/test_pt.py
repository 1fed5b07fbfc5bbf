"""What is read in Portuguese."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.rows import each_row

SENTENCES: dict[str, list[tuple[str, Any]]] = {
    "negated": [
        ("Quem veio à festa exceto Marcos?", ["Marcos"]),
        ("Que receitas sem ovos eu salvei?", ["ovos"]),
        ("Que livros li além dos de Saramago?", ["Saramago"]),
        ("Tudo sobre a mudança, salvo a cozinha", ["cozinha"]),
        ("Pratos que não contenham glúten", ["glúten"]),
        ("Procuro notas sobre Java, não sobre Python", ["Python"]),
        ("As minhas viagens, mas não a de Roma", ["Roma"]),
        ("Projetos que não tenham nada a ver com a universidade", ["universidade"]),
        ("Por favor, ignore as faturas", ["faturas"]),
        ("Quem vem jantar além de Ana e Lucas?", ["Ana", "Lucas"]),
        ("Que doces sem açúcar você me recomendou?", ["açúcar"]),
        ("Com quem falei, com exceção da Joana?", ["Joana"]),
        ("Quem não come carne?", []),
        ("Por que não fui à festa?", []),
        ("Ninguém exceto Sara sabe, certo?", []),
        ("Ele saiu sem avisar?", []),
        ("É sem dúvida a melhor viagem, qual foi?", []),
        ("Não consigo viver sem café, quando disse isso?", []),
        ("Não só Python mas também Go", []),
        ("Quem está fora de casa?", []),
    ],
    "role": [
        ("O que eu te disse sobre as minhas alergias?", "user"),
        ("Que hotel você me recomendou?", "assistant"),
        ("Quando comprei o carro?", "user"),
        ("O que o assistente disse sobre o contrato?", "assistant"),
        ("A receita que você me deu", "assistant"),
        ("Qual foi o seu conselho para o jardim?", "assistant"),
        ("Como se chama o meu cachorro?", "user"),
        ("Sobre o que conversamos ontem?", None),
        ("Onde trabalha a Priya?", None),
    ],
    "session": [
        ("Sobre o que falamos na nossa terceira conversa?", (3,)),
        ("O que você me recomendou na nossa primeira sessão?", (1,)),
        ("Resuma a nossa última conversa", (-1,)),
        ("O que discutimos da última vez?", (-1,)),
        ("O que eu disse na sessão 12?", (12,)),
        ("O que falamos há duas sessões?", (-2,)),
        ("O que eu disse no início da nossa conversa?", "beginning"),
        ("O que disse o meu terapeuta na terceira sessão?", None),
        ("Quando foi a última vez que viajei?", None),
    ],
    "person": [
        ("Onde eu nasci?", "eu"),
        ("Quem é o meu médico?", "meu"),
        ("Onde mora a nossa avó?", "nossa"),
        ("Me diga onde mora a Ana", None),
        ("A que horas chega o trem?", None),
    ],
    "type": [
        ("Quando foi o casamento?", "event"),
        ("Quais são as minhas preferências?", "preference"),
        ("Qual é o meu filme favorito?", "preference"),
        ("Como posso instalar o Docker?", "skill"),
        ("Faça um resumo da semana", "summary"),
        ("Como se chama o cachorro da Ana?", None),
    ],
}


@each_row(("kind", "text", "expected"), [(k, *s) for k, rows in SENTENCES.items() for s in rows])
def test_it_reads(read: Callable[[str, str, str], Any], kind: str, text: str, expected: object) -> None:
    assert read("pt", kind, text) == expected
