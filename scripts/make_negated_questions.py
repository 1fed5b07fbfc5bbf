"""Questions that leave something out, and questions that do not, in German, Spanish, French and Chinese.

    python scripts/make_negated_questions.py [FOLDER]

Writes `de.jsonl`, `es.jsonl`, `fr.jsonl` and `zh.jsonl` into FOLDER (default: benchmarks/made_up/negation): 100
questions each with what they exclude, and 50 that exclude nothing. Each is a template, written in the order in which
the language says it, and a filler. `half` is that of its template: the tables were written by half `a`, and `b` is
what they had not seen. No chance is involved: every run writes the same.

A template's slots: {p} and {q} a person, {t} a topic, {f} food, {x} something technical, {c} a place. What stands in
capitals, {P}, {Q}, {T}, {F}, {X}, {C}, is excluded.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

EXCLUDING, PLAIN = 100, 50

DE = {
    "fillers": {
        "p": ["Anna", "Tobias Keller", "Mehmet", "Frau Lorenz", "Jule", "Priya"],
        "t": ["Meetings", "Rückenschmerzen", "Umzugsplanung", "Zahnarzttermine", "Steuerfragen", "Gartenarbeit"],
        "f": ["Nüsse", "Fleisch", "rote Paprika", "Gluten", "Eier", "Zwiebeln"],
        "x": ["Python", "Kubernetes", "C++", "Docker", "node.js", "PostgreSQL"],
        "c": ["Rom", "Hamburg", "Bad Tölz", "Lissabon", "Wien", "New York"],
    },
    "excluding": [
        "Wer war bei der Wanderung dabei, außer {P}?",
        "Was steht diese Woche an außer {T}?",
        "Welche Rezepte ohne {F} habe ich gespeichert?",
        "Welche Projekte laufen gerade, abgesehen von {X}?",
        "Zeig mir meine Notizen zur Arbeit, aber nicht zu {X}.",
        "Woran habe ich gearbeitet, was nichts mit {X} zu tun hat?",
        "Alle Termine im Mai mit Ausnahme von {T}",
        "Ich meine nicht {P}, sondern die Schwester. Was macht sie beruflich?",
        "Welche Werkzeuge kann Lena bedienen, {X} ausgenommen?",
        "Was weißt du über meine Arbeit? Bitte ohne {T}.",
        "Mit wem außer {P} habe ich letzte Woche telefoniert?",
        "Welche Gerichte mag ich, die kein {F} enthalten?",
        "Gib mir alle Einträge, die nicht von {P} stammen.",
        "Erzähl mir von unseren Reisen, nur nicht von {C}.",
        "Welche Städte außer „{C}“ habe ich besucht?",
        "Fass die Woche zusammen, ausgenommen {T}.",
        "Ignoriere {T} und sag mir, was sonst noch ansteht.",
        "Was möchte ich dieses Jahr lernen, bloß kein {X}?",
        "Was hat das Team sonst gemacht, bis auf {T}?",
        "Wer kommt zur Feier außer {P} und {Q}?",
        "Außer {P}, wer spricht in meiner Familie noch Spanisch?",
        "Welche Restaurants nicht in {C}, sondern auf dem Land haben mir gefallen?",
    ],
    "plain": [
        "Wer mag kein {f}?",
        "Warum bin ich am Freitag nicht nach {c} gefahren?",
        "Wann war ich nicht im Büro?",
        "Hat {p} nicht gesagt, dass sie umzieht?",
        "Welche Tests für {x} sind noch nicht fertig?",
        "Was kann ich nicht ohne {x} machen?",
        "War {p} nicht auch in {c}?",
        "Was darf ich wegen meiner Allergie nicht essen?",
        "Niemand außer {p} wusste davon, oder?",
        "Ich habe keine Ahnung, was {p} gesagt hat, weißt du es?",
        "Habe ich nicht nur {x}, sondern auch Go gelernt?",
        "Warum trinkt {p} keinen Kaffee?",
        "Was habe ich außerdem in {c} gekauft?",
        "Was ist ohne Zweifel mein Lieblingsessen?",
        "Ich konnte den Bericht über {x} nicht finden, wo liegt er?",
        "Welches Team sitzt nicht in {c}?",
        "Ist {p} ohne zu fragen gegangen?",
        "Wer hat die Rechnung noch nicht bezahlt?",
        "Warum funktioniert {x} nicht mehr?",
        "Was hat {p} über {t} erzählt?",
    ],
}

ES = {
    "fillers": {
        "p": ["Lucía", "Javier Ortega", "Marta", "Don Ramiro", "Iker", "Priya"],
        "t": ["reuniones", "dolores de espalda", "mudanzas", "facturas", "citas médicas", "jardinería"],
        "f": ["huevo", "carne roja", "gluten", "cacahuetes", "leche de vaca", "cebolla"],
        "x": ["Python", "Kubernetes", "C++", "Docker", "node.js", "PostgreSQL"],
        "c": ["Roma", "Sevilla", "San Sebastián", "Lisboa", "Viena", "Nueva York"],
    },
    "excluding": [
        "¿Quién vino a la excursión además de {P}?",
        "¿Qué tengo pendiente esta semana excepto {T}?",
        "¿Qué recetas sin {F} guardé?",
        "¿Qué proyectos hay en marcha, aparte de {X}?",
        "Enséñame mis notas del trabajo, pero no las de {X}.",
        "¿En qué he trabajado que no tenga que ver con {X}?",
        "Todas las citas de mayo, con excepción de {T}",
        "No me refiero a {P}, sino a su hermana: ¿en qué trabaja?",
        "¿Qué herramientas domina Elena, salvo {X}?",
        "¿Qué sabes de mi trabajo? Sin {T}, por favor.",
        "¿Con quién hablé la semana pasada, excepto con {P}?",
        "¿Qué platos me gustan que no lleven {F}?",
        "Dame todas las entradas que no sean de {P}.",
        "Cuéntame nuestros viajes, menos el de {C}.",
        "¿Qué ciudades he visitado excepto «{C}»?",
        "Resume la semana excluyendo {T}.",
        "Ignora {T} y dime qué más hay.",
        "¿Qué quiero aprender este año que no sea {X}?",
        "¿Qué hizo el equipo fuera de {T}?",
        "¿Quién viene a la fiesta aparte de {P} y {Q}?",
        "Exceptuando a {P}, ¿quién habla francés en mi familia?",
        "¿Qué restaurantes no de {C} sino del campo me gustaron?",
    ],
    "plain": [
        "¿Quién no come {f}?",
        "¿Por qué no fui a {c} el viernes?",
        "¿Cuándo no estuve en la oficina?",
        "¿No dijo {p} que se mudaba?",
        "¿Qué pruebas de {x} no están listas?",
        "¿Qué es lo que no puedo hacer sin {x}?",
        "¿No estuvo {p} también en {c}?",
        "¿Qué no puedo comer por mi alergia?",
        "Nadie excepto {p} lo sabía, ¿verdad?",
        "No tengo idea de qué dijo {p}, ¿lo sabes tú?",
        "¿Aprendí no solo {x} sino también Go?",
        "¿Por qué {p} no bebe café?",
        "¿Qué compré además en {c}?",
        "¿Cuál es sin duda mi plato favorito?",
        "No encontré el informe de {x}, ¿dónde está?",
        "¿Qué equipo no está en {c}?",
        "¿Se fue {p} sin avisar?",
        "¿Quién no ha pagado todavía la cuenta?",
        "¿Por qué ya no funciona {x}?",
        "¿Qué contó {p} sobre {t}?",
    ],
}

FR = {
    "fillers": {
        "p": ["Camille", "Hugo Lambert", "Inès", "Madame Roche", "Théo", "Priya"],
        "t": ["réunions", "maux de dos", "factures", "rendez-vous médicaux", "travaux", "courses"],
        "f": ["gluten", "viande rouge", "noix", "lait de vache", "poivrons", "crème"],
        "x": ["Python", "Kubernetes", "C++", "Docker", "node.js", "PostgreSQL"],
        "c": ["Rome", "Lyon", "Saint-Malo", "Lisbonne", "Vienne", "New York"],
    },
    "excluding": [
        "Qui est venu à la randonnée, à part {P} ?",
        "Qu'est-ce qui est prévu cette semaine sauf les {T} ?",
        "Quelles recettes sans {F} ai-je enregistrées ?",
        "Quels projets sont en cours, en dehors de {X} ?",
        "Montre-moi mes notes de travail, mais pas celles sur {X}.",
        "Sur quoi ai-je travaillé qui n'a rien à voir avec {X} ?",
        "Tous les événements de mai, à l'exception des {T}",
        "Je ne parle pas de {P} mais de sa sœur : que fait-elle ?",
        "Quels outils Léa maîtrise-t-elle, excepté {X} ?",
        "Que sais-tu de mon travail ? Sans les {T}, s'il te plaît.",
        "Avec qui ai-je parlé la semaine dernière, hormis {P} ?",
        "Quels plats j'aime qui ne contiennent pas de {F} ?",
        "Donne-moi toutes les entrées qui ne viennent pas de {P}.",
        "Raconte-moi nos voyages, sauf celui de {C}.",
        "Quelles villes ai-je visitées excepté « {C} » ?",
        "Résume la semaine en excluant les {T}.",
        "Ignore les {T} et dis-moi ce qu'il y a d'autre.",
        "Qu'est-ce que je veux apprendre cette année, autre que {X} ?",
        "Qu'a fait l'équipe outre les {T} ?",
        "Qui vient à la fête à part {P} et {Q} ?",
        "Mis à part {P}, qui parle espagnol dans ma famille ?",
        "Quels restaurants, pas à {C} mais à la campagne, m'ont plu ?",
    ],
    "plain": [
        "Qui ne mange pas de {f} ?",
        "Pourquoi ne suis-je pas allé à {c} vendredi ?",
        "Quand est-ce que je n'étais pas au bureau ?",
        "{p} n'a-t-elle pas dit qu'elle déménageait ?",
        "Quels tests de {x} ne sont pas prêts ?",
        "Qu'est-ce que je ne peux pas faire sans {x} ?",
        "Est-ce que {p} n'était pas aussi à {c} ?",
        "Qu'est-ce que je ne dois pas manger à cause de mon allergie ?",
        "Personne sauf {p} ne le savait, non ?",
        "Je n'ai aucune idée de ce que {p} a dit, tu le sais ?",
        "Ai-je appris non seulement {x} mais aussi Go ?",
        "Pourquoi {p} ne boit pas de café ?",
        "Qu'est-ce que j'ai acheté en plus à {c} ?",
        "Quel est sans doute mon plat préféré ?",
        "Je n'ai pas trouvé le rapport sur {x}, où est-il ?",
        "Quelle équipe n'est pas à {c} ?",
        "Est-ce que {p} est partie sans prévenir ?",
        "Qui n'a pas encore payé la facture ?",
        "Pourquoi {x} ne marche plus ?",
        "Qu'a raconté {p} sur les {t} ?",
    ],
}

ZH = {
    "fillers": {
        "p": ["小明", "李晓红", "王老师", "阿杰", "张伟", "Priya"],
        "t": ["会议", "腰痛", "搬家", "看牙", "报税", "园艺"],
        "f": ["花生", "牛肉", "青椒", "香菜", "鸡蛋", "乳制品"],
        "x": ["Python", "Kubernetes", "C++", "Docker", "node.js", "PostgreSQL"],
        "c": ["罗马", "杭州", "里斯本", "成都", "维也纳", "New York"],
    },
    "excluding": [
        "除了{P}，还有谁参加了爬山？",
        "这周除了{T}以外还有什么安排？",
        "我存过哪些不含{F}的菜谱？",
        "除{X}之外，现在有哪些项目在进行？",
        "给我看工作笔记，但不要{X}的。",
        "我做过哪些跟{X}无关的工作？",
        "列出五月的所有日程，{T}除外",
        "我说的不是{P}，而是他妹妹，她做什么工作？",
        "除了{X}丽娜还会用什么工具？",
        "你知道我工作上的哪些事？不要提{T}。",
        "上周我跟{P}以外的谁通过电话？",
        "我喜欢的菜里，有哪些不放{F}的？",
        "把不是{P}写的记录都给我。",
        "讲讲我们的旅行，别提{C}。",
        "除了“{C}”，我还去过哪些城市？",
        "总结一下这周，不包括{T}。",
        "忽略{T}，告诉我还有什么事。",
        "今年我想学什么，{X}就不用说了？",
        "撇开{T}不谈，团队做了什么？",
        "除了{P}和{Q}，谁会来聚会？",
        "除{P}外，我家里谁会说西班牙语？",
        "我喜欢哪些不在{C}而在乡下的餐馆？",
    ],
    "plain": [
        "谁不吃{f}？",
        "为什么我星期五没去{c}？",
        "我什么时候不在办公室？",
        "{p}不是说她要搬家吗？",
        "{x}的哪些测试还没有完成？",
        "没有{x}我做不了什么？",
        "{p}不也去过{c}吗？",
        "我过敏，不能吃什么？",
        "除了{p}没有人知道这件事，对吧？",
        "我不知道{p}说了什么，你知道吗？",
        "我不仅学了{x}，而且学了Go吗？",
        "{p}为什么不喝咖啡？",
        "我在{c}另外还买了什么？",
        "毫无疑问我最喜欢的菜是什么？",
        "我找不到{x}的报告，它在哪里？",
        "哪个团队不在{c}？",
        "{p}是不是不告而别了？",
        "谁还没有付账？",
        "{x}为什么不能用了？",
        "{p}关于{t}说了什么？",
    ],
}

LANGUAGES: dict[str, dict[str, Any]] = {"de": DE, "es": ES, "fr": FR, "zh": ZH}
_SLOT = re.compile(r"\{([a-zA-Z])\}")


def _filled(template: str, fillers: dict[str, list[str]], turn: int) -> tuple[str, list[str]]:
    """A template with the fillers of this turn, and what it excludes."""
    excluded: list[str] = []

    def fill(match: re.Match[str]) -> str:
        slot = match[1]
        second = slot in "qQ"
        choices = fillers["p" if second else slot.lower()]
        word = choices[(turn + (3 if second else 0)) % len(choices)]
        if slot.isupper():
            excluded.append(word)
        return word

    return _SLOT.sub(fill, template), excluded


def questions(language: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """All of a language, those that exclude first."""
    for templates, wanted in ((language["excluding"], EXCLUDING), (language["plain"], PLAIN)):
        seen: set[str] = set()
        turn = 0
        while len(seen) < wanted:
            number = turn % len(templates)
            text, excluded = _filled(templates[number], language["fillers"], turn // len(templates) + number)
            if text not in seen:
                seen.add(text)
                yield {"query": text, "excluded": excluded, "half": "ab"[number % 2]}
            turn += 1


def main() -> None:
    default = Path(__file__).resolve().parents[1] / "benchmarks" / "made_up" / "negation"
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else default
    folder.mkdir(parents=True, exist_ok=True)
    for code, language in LANGUAGES.items():
        lines = [json.dumps(question, ensure_ascii=False) for question in questions(language)]
        (folder / f"{code}.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
