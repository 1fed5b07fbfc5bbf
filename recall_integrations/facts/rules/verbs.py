"""Verbs in all their forms, and the slots that they lead to."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from recall_integrations.patterns import regex

BASE, THIRD, PAST, PARTICIPLE, ING = "base", "third", "past", "participle", "ing"

_IRREGULAR = {
    "have": ("has", "had", "had", "having"),
    "get": ("gets", "got", "got", "getting"),
    "go": ("goes", "went", "gone", "going"),
    "come": ("comes", "came", "come", "coming"),
    "leave": ("leaves", "left", "left", "leaving"),
    "quit": ("quits", "quit", "quit", "quitting"),
    "give": ("gives", "gave", "given", "giving"),
    "speak": ("speaks", "spoke", "spoken", "speaking"),
    "drive": ("drives", "drove", "driven", "driving"),
    "ride": ("rides", "rode", "ridden", "riding"),
    "take": ("takes", "took", "taken", "taking"),
    "become": ("becomes", "became", "become", "becoming"),
    "begin": ("begins", "began", "begun", "beginning"),
    "grow": ("grows", "grew", "grown", "growing"),
    "buy": ("buys", "bought", "bought", "buying"),
    "sell": ("sells", "sold", "sold", "selling"),
    "eat": ("eats", "ate", "eaten", "eating"),
    "drink": ("drinks", "drank", "drunk", "drinking"),
    "teach": ("teaches", "taught", "taught", "teaching"),
    "keep": ("keeps", "kept", "kept", "keeping"),
    "pay": ("pays", "paid", "paid", "paying"),
    "make": ("makes", "made", "made", "making"),
    "sing": ("sings", "sang", "sung", "singing"),
    "break": ("breaks", "broke", "broken", "breaking"),
    "lose": ("loses", "lost", "lost", "losing"),
    "write": ("writes", "wrote", "written", "writing"),
    "run": ("runs", "ran", "run", "running"),
    "swim": ("swims", "swam", "swum", "swimming"),
    "see": ("sees", "saw", "seen", "seeing"),
    "wear": ("wears", "wore", "worn", "wearing"),
    "read": ("reads", "read", "read", "reading"),
    "lead": ("leads", "led", "led", "leading"),
    "learn": ("learns", "learned", "learned", "learning"),
    "put": ("puts", "put", "put", "putting"),
    "sit": ("sits", "sat", "sat", "sitting"),
    "meet": ("meets", "met", "met", "meeting"),
    "find": ("finds", "found", "found", "finding"),
    "swap": ("swaps", "swapped", "swapped", "swapping"),
    "stop": ("stops", "stopped", "stopped", "stopping"),
    "drop": ("drops", "dropped", "dropped", "dropping"),
    "shop": ("shops", "shopped", "shopped", "shopping"),
    "prefer": ("prefers", "preferred", "preferred", "preferring"),
    "adopt": ("adopts", "adopted", "adopted", "adopting"),
    "join": ("joins", "joined", "joined", "joining"),
    "play": ("plays", "played", "played", "playing"),
    "enjoy": ("enjoys", "enjoyed", "enjoyed", "enjoying"),
    "stay": ("stays", "stayed", "stayed", "staying"),
    "hail": ("hails", "hailed", "hailed", "hailing"),
    "train": ("trains", "trained", "trained", "training"),
    "stick": ("sticks", "stuck", "stuck", "sticking"),
    "cost": ("costs", "cost", "cost", "costing"),
    "know": ("knows", "knew", "known", "knowing"),
    "trade": ("trades", "traded", "traded", "trading"),
    "hold": ("holds", "held", "held", "holding"),
    "set": ("sets", "set", "set", "setting"),
    "choose": ("chooses", "chose", "chosen", "choosing"),
    "scrap": ("scraps", "scrapped", "scrapped", "scrapping"),
    "spend": ("spends", "spent", "spent", "spending"),
    "shut": ("shuts", "shut", "shut", "shutting"),
    "build": ("builds", "built", "built", "building"),
    "stand": ("stands", "stood", "stood", "standing"),
    "sleep": ("sleeps", "slept", "slept", "sleeping"),
    "bring": ("brings", "brought", "brought", "bringing"),
    "cut": ("cuts", "cut", "cut", "cutting"),
    "hit": ("hits", "hit", "hit", "hitting"),
    "hang": ("hangs", "hung", "hung", "hanging"),
    "send": ("sends", "sent", "sent", "sending"),
    "lend": ("lends", "lent", "lent", "lending"),
    "think": ("thinks", "thought", "thought", "thinking"),
    "feel": ("feels", "felt", "felt", "feeling"),
    "win": ("wins", "won", "won", "winning"),
    "draw": ("draws", "drew", "drawn", "drawing"),
    "fly": ("flies", "flew", "flown", "flying"),
    "throw": ("throws", "threw", "thrown", "throwing"),
    "fall": ("falls", "fell", "fallen", "falling"),
    "forget": ("forgets", "forgot", "forgotten", "forgetting"),
    "catch": ("catches", "caught", "caught", "catching"),
    "fight": ("fights", "fought", "fought", "fighting"),
    "hide": ("hides", "hid", "hidden", "hiding"),
    "steal": ("steals", "stole", "stolen", "stealing"),
    "wake": ("wakes", "woke", "woken", "waking"),
    "tell": ("tells", "told", "told", "telling"),
    "say": ("says", "said", "said", "saying"),
    "rise": ("rises", "rose", "risen", "rising"),
    "grind": ("grinds", "ground", "ground", "grinding"),
    "let": ("lets", "let", "let", "letting"),
    "bet": ("bets", "bet", "bet", "betting"),
    "split": ("splits", "split", "split", "splitting"),
    "dye": ("dyes", "dyed", "dyed", "dyeing"),
}
_VOWELS = frozenset("aeiou")
_DOUBLES = regex(r"(?:[^aeiou\W]*|qu|com|ad|per|sub|trans|oc)[aeiou][bdgklmnprtv]\Z")


def forms(verb: str) -> dict[str, set[str]]:
    """The forms of a verb with what each may be, for a verb in the infinitive; `be` has none here.

    Args:
        verb: one word.
    """
    found: dict[str, set[str]] = {}
    for form, tense in zip((verb, *(_IRREGULAR.get(verb) or _regular(verb))), _TENSES, strict=True):
        found.setdefault(form, set()).add(tense)
    return found


_TENSES = (BASE, THIRD, PAST, PARTICIPLE, ING)


def _regular(verb: str) -> tuple[str, str, str, str]:
    if verb.endswith("e"):
        return f"{verb}s", f"{verb}d", f"{verb}d", f"{verb[:-1]}ing"
    if verb.endswith("y") and verb[-2:-1] not in _VOWELS:
        return f"{verb[:-1]}ies", f"{verb[:-1]}ied", f"{verb[:-1]}ied", f"{verb}ing"
    third = f"{verb}es" if verb.endswith(("s", "x", "z", "ch", "sh", "o")) else f"{verb}s"
    stem = verb + verb[-1] if _DOUBLES.match(verb) else verb  # "shipped", not "visitted"
    return third, f"{stem}ed", f"{stem}ed", f"{stem}ing"


ROLES = tuple(
    "have use see keep choose pick switch change swap go park wake get eat own like love prefer enjoy set live".split()
)
Entry = tuple[tuple[str, ...], str, str]  # the words behind the verb, the slot, the group


class VerbIndex:
    """Which slots a verb may lead to.

    Args:
        rows: name of a slot and its phrases by group: `verbs`, `starts`, `stops`.
        roles: verbs behind which a noun names the slot: "uses Zed as her editor".
    """

    def __init__(self, rows: Iterable[tuple[str, Mapping[str, tuple[str, ...]]]], roles: Iterable[str] = ROLES) -> None:
        self.tenses: dict[str, set[str]] = {}
        self.after: dict[str, dict[str, list[Entry]]] = {}  # by form, then by the next word
        self.being: dict[str, list[Entry]] = {}
        self.by_noun: set[str] = set()  # forms of the verbs behind which a noun names the slot
        for verb in roles:
            for form, tenses in forms(verb).items():
                self.by_noun.add(form)
                self.tenses.setdefault(form, set()).update(tenses)
        for name, groups in rows:
            for group, phrases in groups.items():
                for phrase in phrases:
                    self._add(name, group, phrase.split())
        for by_word in (*self.after.values(), self.being):
            for entries in by_word.values():
                entries.sort(key=lambda entry: -len(entry[0]))

    def _add(self, name: str, group: str, words: list[str]) -> None:
        entry = (tuple(words[1:]), name, group)
        then = words[1] if len(words) > 1 else ""
        if words[0] == "be":
            self.being.setdefault(then, []).append(entry)
            return
        for form, tenses in forms(words[0]).items():
            self.tenses.setdefault(form, set()).update(tenses)
            self.after.setdefault(form, {}).setdefault(then, []).append(entry)
