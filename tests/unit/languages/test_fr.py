"""What is read in French."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.rows import each_row

SENTENCES: dict[str, list[tuple[str, Any]]] = {
    "negated": [
        ("Qui était au mariage, sauf Thomas ?", ["Thomas"]),
        ("Quels desserts sans sucre ma grand-mère aime-t-elle ?", ["sucre"]),
        ("Quels livres ai-je lus à part ceux de Camus ?", ["Camus"]),
        ("Tout sur le déménagement hormis la cuisine", ["cuisine"]),
        ("Des recettes qui ne contiennent pas de lait", ["lait"]),
        ("Je cherche des notes sur Java, pas sur Python", ["Python"]),
        ("Mes voyages, mais pas celui de Rome", ["Rome"]),
        ("Les projets qui n'ont rien à voir avec l'université", ["université"]),
        ("S'il te plaît, ignore les factures", ["factures"]),
        ("Qui vient dîner en dehors d'Anne et Luc ?", ["Anne", "Luc"]),
        ("Quels plats sans gluten m'as-tu recommandés ?", ["gluten"]),
        ("Résume la semaine en excluant les réunions d'équipe", ["réunions d'équipe"]),
        ("Qui ne mange pas de viande ?", []),
        ("Pourquoi je ne suis pas allé à la fête ?", []),
        ("Personne sauf Sara ne le sait, non ?", []),
        ("Est-il parti sans prévenir ?", []),
        ("C'est sans doute le meilleur voyage, lequel était-ce ?", []),
        ("Je ne peux pas vivre sans café, quand l'ai-je dit ?", []),
        ("Pas seulement Python mais aussi Go", []),
        ("Quelle machine est hors service ?", []),
    ],
    "role": [
        ("Peux-tu me dire où habite Anne ?", None),
        ("As-tu une idée ?", None),
        ("Qu'est-ce que je t'ai dit sur mes allergies ?", "user"),
        ("Quel hôtel m'as-tu recommandé ?", "assistant"),
        ("Que m'avez-vous conseillé pour le dos ?", "assistant"),
        ("Quand ai-je acheté la voiture ?", "user"),
        ("Qu'a dit l'assistant sur le contrat ?", "assistant"),
        ("La recette que tu m'as donnée", "assistant"),
        ("Quel était ton conseil pour le jardin ?", "assistant"),
        ("Comment s'appelle mon chien ?", "user"),
        ("De quoi avons-nous parlé hier ?", None),
        ("Où travaille Priya ?", None),
    ],
    "session": [
        ("De quoi avons-nous parlé lors de notre troisième conversation ?", (3,)),
        ("Que m'as-tu conseillé pendant notre première séance ?", (1,)),
        ("Résume notre dernière discussion", (-1,)),
        ("De quoi avons-nous discuté la dernière fois ?", (-1,)),
        ("Qu'est-ce que j'ai dit dans la session 12 ?", (12,)),
        ("Qu'avons-nous décidé dans la conversation précédente ?", (-1,)),
        ("De quoi avons-nous parlé il y a deux séances ?", (-2,)),
        ("Qu'ai-je dit au début de notre conversation ?", "beginning"),
        ("Qu'a dit ma psychologue à la troisième séance ?", None),
        ("Que s'est-il passé après notre dernière conversation avec Tom ?", None),
        ("Quand est la dernière fois que je suis allé à Rome ?", None),
    ],
    "person": [
        ("Où suis-je né ?", "suis-je"),
        ("Qui est mon médecin ?", "mon"),
        ("Où habite notre grand-mère ?", "notre"),
        ("Qu'est-ce que j'aime ?", "j'"),
        ("Dis-moi où habite Anne", None),
        ("À quelle heure arrive le train ?", None),
    ],
    "type": [
        ("Quand était le mariage ?", "event"),
        ("Quelles sont mes préférences ?", "preference"),
        ("Quel est mon film préféré ?", "preference"),
        ("Comment puis-je installer Docker ?", "skill"),
        ("Fais-moi un résumé de la semaine", "summary"),
        ("Comment s'appelle le chien d'Anne ?", None),
    ],
}


@each_row(("kind", "text", "expected"), [(k, *s) for k, rows in SENTENCES.items() for s in rows])
def test_it_reads(read: Callable[[str, str, str], Any], kind: str, text: str, expected: object) -> None:
    assert read("fr", kind, text) == expected
