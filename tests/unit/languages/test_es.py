"""What is read in Spanish."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.rows import each_row

SENTENCES: dict[str, list[tuple[str, Any]]] = {
    "negated": [
        ("¿Quién estuvo en la boda, excepto Tomás?", ["Tomás"]),
        ("¿Qué postres sin azúcar le gustan a mi abuela?", ["azúcar"]),
        ("¿Qué libros he leído aparte de los de García Márquez?", ["García Márquez"]),
        ("Todo sobre la mudanza salvo el salón", ["salón"]),
        ("Recetas que no contengan leche ni nueces", ["leche", "nueces"]),
        ("Busco notas sobre Java, no sobre Python", ["Python"]),
        ("Mis viajes, pero no el de París", ["París"]),
        ("Proyectos que no tengan nada que ver con la universidad", ["universidad"]),
        ("Por favor, omite las facturas", ["facturas"]),
        ("¿Quién viene a cenar además de Ana y Luis?", ["Ana", "Luis"]),
        ("¿Qué platos sin gluten me recomendaste?", ["gluten"]),
        ("No hablo de Pedro, sino de Pablo", ["Pedro"]),
        ("¿Quién no come carne?", []),
        ("¿Por qué no fui a la fiesta?", []),
        ("Nadie excepto Sara lo sabe, ¿no?", []),
        ("¿Salió sin avisar?", []),
        ("Es sin duda el mejor viaje, ¿cuál fue?", []),
        ("No puedo vivir sin café, ¿cuándo lo dije?", []),
        ("¿Qué compré además?", []),
        ("No solo Python sino también Go", []),
        ("¿Quién está fuera de casa?", []),
    ],
    "role": [
        ("¿Puedes decirme dónde vive Ana?", None),
        ("¿Qué te dije sobre mis alergias?", "user"),
        ("¿Qué hotel me recomendaste?", "assistant"),
        ("¿Qué me has aconsejado para la espalda?", "assistant"),
        ("¿Cuándo compré el coche?", "user"),
        ("¿Qué dijo el asistente sobre el contrato?", "assistant"),
        ("¿Cuál fue tu consejo para el jardín?", "assistant"),
        ("Lo que te conté de mi hermana", "user"),
        ("¿Cómo se llama mi perro?", "user"),
        ("¿De qué hablamos ayer?", None),
        ("¿Dónde trabaja Priya?", None),
    ],
    "session": [
        ("¿De qué hablamos en nuestra tercera conversación?", (3,)),
        ("¿Qué me recomendaste en nuestra primera sesión?", (1,)),
        ("Resume nuestra última charla", (-1,)),
        ("¿Qué discutimos la última vez?", (-1,)),
        ("¿Qué dije en la sesión 12?", (12,)),
        ("¿Qué acordamos en la conversación anterior?", (-1,)),
        ("¿De qué hablamos hace dos sesiones?", (-2,)),
        ("¿Qué dije al principio de nuestra conversación?", "beginning"),
        ("¿Qué dijo mi terapeuta en la tercera sesión?", None),
        ("¿Qué pasó después de nuestra última conversación con Tomás?", None),
        ("¿Cuándo fue la última vez que viajé?", None),
    ],
    "person": [
        ("¿Dónde nací yo?", "yo"),
        ("¿Quién es mi médica?", "mi"),
        ("¿Cuánto tengo ahorrado?", "tengo"),
        ("¿Dónde vive nuestra abuela?", "nuestra"),
        ("Dime dónde vive Ana", None),
        ("¿A qué hora llega el tren?", None),
    ],
    "type": [
        ("¿Cuándo fue la boda?", "event"),
        ("¿Cuándo se arregló el tejado?", "event"),
        ("¿Cuáles son mis preferencias?", "preference"),
        ("¿Cuál es mi película favorita?", "preference"),
        ("¿Cómo puedo instalar Docker?", "skill"),
        ("Dame un resumen de la semana", "summary"),
        ("¿Cómo se llama el perro de Ana?", None),
    ],
}


@each_row(("kind", "text", "expected"), [(k, *s) for k, rows in SENTENCES.items() for s in rows])
def test_it_reads(read: Callable[[str, str, str], Any], kind: str, text: str, expected: object) -> None:
    assert read("es", kind, text) == expected
