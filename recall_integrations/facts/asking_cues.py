"""Questions of any wording that name whose and of what, by cues: "got Priya's digits?", "who signs my paychecks".

It is asked last, where neither a shape (`question`) nor a name of a slot (`asking_loosely`) was read. Every word must
have a place: whose it is, a cue of one slot (`cue_words`), a time, or words that only ask.
"""

from __future__ import annotations

import itertools
from typing import NamedTuple

from recall_integrations.facts.asked import HISTORY, NOW, PREVIOUS, THEN, WHEN, StateAsked
from recall_integrations.facts.cue_words import LIKED, Cues, cues_of
from recall_integrations.facts.open_names import open_name, slots_called
from recall_integrations.facts.rules import words as known
from recall_integrations.facts.rules.loose_words import PREPOSITIONS, TALK
from recall_integrations.facts.rules.verbs import forms
from recall_integrations.facts.said import ME
from recall_integrations.facts.slots import OPEN, Slots

CHARS_MAX, WORDS_MAX = 110, 16
SURE, OPEN_SURE = 0.6, 0.55
_EDGES = '.,;:!?…"“”()[]'


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


# With one of these something else is asked for: advice, what was said or done, another thing.
_NEVER = _set(
    "should would could might shall will recommend recommended suggest suggested advice about think thinks"
    " thought say said says"
    " happen happened happens why because buy fix repair cancel write draft translate plan pay-off compare"
    " better than pros"
    " cons improve reset renew delete remove forget cook make-for wear safe strong slow fast good bad nice near"
    " nearby far-from"
    " opinion feel feeling feels love? talk talked discuss discussed mention mentioned gave given give-me-for"
    " tell-about"
    " book-a schedule order-a weather news afraid appointment appointments interview party trip gift present did-you if"
    " call-my visit meet met meeting-with went-to watch leaked explain describe summarize example next tomorrow tonight"
    " want wants like-to try tried hope help helped cost-of way ways tips idea ideas difference like cancelled"
)
_ASK = _set(
    "what whats what's which who whos who's whom whose where wheres where's when when's when'd whens how hows"
    " how's is are am was"
    " were be been being do does did have has had having got get gets give show list tell remind pull look"
    " bring fetch find read"
    " run walk take talk trace retrace recap recall remember know need want say again please pls plz pl thanks"
    " thank you u i me my"
    " mine our ours we us i'm i've i'd im ive a an the of for to in on at with by as under from up out through"
    " off it its it's that"
    " that's this those these there here any some one ones anything something people folks others everyone file"
    " record records"
    " so ok okay hey hi btw and or now currently nowadays days moment present today still lately anymore"
    " currently's current new"
    " newest latest actual exact right just quick quickly question more once down name called names go goes"
    " going use used using"
    " hold holds keep keeps stand stands belong put puts set works come comes every each all whole full"
    " be's can could-you would-you may must mind lemme gimme wanna myself himself herself much many big long high tall"
    " currently-on else exactly actually really then be-on share type types typed do-for live lives used-to not"
    " into it-that"
    " he she his her him they their them currently-at dear kind sort usually normally number also listed"
    " registered dont don't"
    " over time years seem says does-it responsible? hmm um say-under tell-me where-is spend mention'd could-be"
    " can-you no. no"
)
_PREVIOUS = _set(
    "previous previously old former formerly before earlier prior last ex beforehand older used past preceding"
)
_HISTORY = _set(
    "history every timeline evolution evolve evolved evolving chronology chronological chronologically trace"
    " retrace track"
    " gone through walk run developed develop development over years order oldest newest far log sequence"
    " succession changes"
    " changed change versions progress different journey ever past each all recap often move moved taste habits"
)
_TELLS_HISTORY = _set(
    "history timeline evolution evolve evolved evolving chronology chronological trace retrace developed develop log"
    " sequence succession versions oldest journey"
)
_WHEN = _set(
    "when when'd when's whens since long date last change changed begin began begun start started become became"
    " get got switch"
    " switched first day year month set up take took turn turned ago how adopt adopted now"
)
_NO_PAIRS = frozenset(
    (
        "me to",
        "i last",
        "last time",
        "need to",
        "have to",
        "want to",
        "going to",
        "i do",
        "how far",
        "what time",
        "time is",
        "need a",
        "need an",
        "a new",
        "much is",
        "how much time",
        "do with",
        "get to",
        "do if",
        "what on",
        "i get",
        "we get",
        "to do",
    )
)
_FIRST = _set(
    "what whats what's which who whos who's whom whose where wheres where's when when's when'd whens how how's"
    " remind need got list"
    " show tell give pull look walk run trace retrace recap bring fetch find read to by name any every all the"
)
_YES_NO = _set("do does did is are am was were has have had can could should would will may")
_WHERE = _set("home address employer gym school bank location hometown")
_DATES = _set("birthday deadline launch_date")
_NO_NAMES = known.NOT_NAMES | _ASK


class _Owner(NamedTuple):
    subject: str
    places: frozenset[int]
    told: bool  # whether somebody is named


def asked_by_cues(text: str, slots: Slots, *, windowed: bool) -> StateAsked | None:
    """What such a query asks; `None` = it is none.

    Args:
        text: the query.
        slots: the schema.
        windowed: whether it names a time.
    """
    if len(text) > CHARS_MAX or "\n" in text.strip():
        return None
    raw = [token.strip(_EDGES) for token in text.replace("’", "'").split()]
    tokens = [token for token in raw if token and token[0].isalnum()]
    low = [token.casefold() for token in tokens]
    if not 1 < len(low) <= WORDS_MAX or not _NEVER.isdisjoint(low):
        return None
    cues = cues_of(slots)
    mine = not {"my", "our", "mine", "i", "me", "we", "i've", "i'm", "i'd", "us"}.isdisjoint(low)
    owner = _owner(tokens, low, cues)
    pairs = {f"{a} {b}" for a, b in itertools.pairwise(low)}
    if pairs & _NO_PAIRS:
        return None
    if owner is None or not _asks(text, low, mine, owner):
        return None
    return _Query(tokens, low, owner, mine, slots, cues, windowed=windowed).read()


def _asks(text: str, low: list[str], mine: bool, owner: _Owner) -> bool:
    """Whether a text asks in one of the ways in which facts are asked for."""
    if low[0] in ("i", "i'm", "we", "i've") or {"don't", "dont", "not", "didn't"} & set(low):
        return False
    if low[0] in ("how", "how's", "hows") and (
        low[0] != "how" or low[1] in ("is", "are", "was", "were", "many", "come", "about")
    ):
        return False
    if low[0] == "when" and low[1] not in ("is", "was", "did", "do", "does", "has", "have", "will", "are", "am"):
        return False
    first = low[0] if low[0] not in ("so", "and", "ok", "hey", "btw", "please", "pls") else low[1]
    if first in _YES_NO:
        pairs = (["do", "you"], ["have", "you"], ["can", "you"], ["could", "you"], ["am", "i"], ["is", "there"])
        return low[:2] in [list(p) for p in pairs] and bool({"my", "mine", "our", "i", "we"} & set(low) or owner.told)
    asked = text.rstrip().endswith("?") or first in _FIRST or "please" in low or "again" in low
    if first == "how" and low[1:2] in (["do"], ["can"], ["to"], ["should"]) and low[2:3] in (["i"], ["we"]):
        return not {"my", "our"} & set(low)  # "how do I change my email"
    return asked or (len(low) <= 6 and {"is", "was", "are", "has", "have"}.isdisjoint(low))


def _owner(tokens: list[str], low: list[str], cues: Cues) -> _Owner | None:
    """Whose: "Priya's", "my sister", "for Priya", "Project Kestrel"; `None` = two are named."""
    found: list[_Owner] = []
    taken: set[int] = set()
    for i, word in enumerate(low):
        here = i in taken or not word.endswith("'s") or word in _ASK
        owner = None if here else _possessor(tokens, low, i, cues)
        if owner is not None:
            found.append(owner)
            taken |= owner.places
    for i in range(len(low)):
        owner = None if i in taken else _someone(tokens, low, i, cues)
        if owner is not None:
            found.append(owner)
            taken |= owner.places
    if not found:
        return _thing(tokens, low, cues) or _Owner(ME, frozenset(), False)
    return found[0] if len(found) == 1 else None


def _possessor(tokens: list[str], low: list[str], i: int, cues: Cues) -> _Owner | None:
    """ "Priya's", "sister's", "the newsletter's"."""
    begin, base = i, low[i][:-2]
    if base in known.RELATIONS:
        while begin and low[begin - 1] in known.RELATION_ADJECTIVES:
            begin -= 1
        name = "my " + " ".join([*low[begin:i], base])
        begin -= bool(begin and low[begin - 1] in ("my", "our"))
        return _Owner(name, frozenset(range(begin, i + 1)), True)
    if base in cues.nouns:
        return None
    while begin and tokens[begin - 1][:1].isupper() and low[begin - 1] not in _NO_NAMES:
        begin -= 1
    if "the" in low[max(0, begin - 2) : begin]:
        begin = max(j for j in range(max(0, begin - 2), begin) if low[j] == "the")
    elif not tokens[begin][:1].isupper() or low[begin] in known.NOT_NAMES:
        return None
    return _Owner(" ".join([*tokens[begin:i], tokens[i][:-2]]), frozenset(range(begin, i + 1)), True)


def _someone(tokens: list[str], low: list[str], i: int, cues: Cues) -> _Owner | None:
    """ "My sister", "Project Kestrel"."""
    word = low[i]
    if word in known.RELATIONS and word not in _NO_KIN and i and low[i - 1] in ("my", "our"):
        if any(w in cues.nouns or w in cues.verbs for j, w in enumerate(low) if j > i and w not in _ASK):
            return _Owner(f"my {word}", frozenset((i - 1, i)), True)
        return None
    if not tokens[i][:1].isupper() or not (i or low[0] not in cues.nouns) or word in _NO_NAMES:
        return None
    end = i + 1
    while end < len(low) and (tokens[end][:1].isupper() or (tokens[end].isdigit() and end == i + 1)):
        end += 1
    return _Owner(" ".join(tokens[i:end]), frozenset(range(i, end)), True)


def _thing(tokens: list[str], low: list[str], cues: Cues) -> _Owner | None:
    """ "The newsletter", "the weekly review": words with an article that nothing else explains."""
    for i, word in enumerate(low):
        if word == "the" and i + 1 < len(low):
            end = i + 1
            while end < len(low) and end - i <= 3 and low[end] not in _ASK and low[end] not in cues.verbs:
                end += 1
            phrase = low[i + 1 : end]
            if (phrase and phrase[-1] in known.EVALUATIVE) or (phrase and phrase[-1].endswith(("est", "ed"))):
                return None
            if phrase and phrase[-1] not in cues.nouns and " ".join(phrase) not in cues.nouns:
                if phrase[-1] in known.ATTRIBUTE_HEADS or any(w in _HISTORY or w in _PREVIOUS for w in phrase):
                    continue
                return _Owner(" ".join(tokens[i:end]), frozenset(range(i, end)), True)
    return None


def mode_first(low: list[str]) -> bool:
    """Whether it asks when somebody did something."""
    return low[0] in ("when", "when'd") and low[1] == "did"


class _Query:
    """One query while it is read."""

    def __init__(
        self, tokens: list[str], low: list[str], owner: _Owner, mine: bool, slots: Slots, cues: Cues, *, windowed: bool
    ) -> None:
        self.tokens, self.low, self.owner, self.mine = tokens, low, owner, mine
        self.slots, self.cues, self.windowed = slots, cues, windowed
        self.plain = [w[:-2] if w.endswith("'s") and w not in _ASK else w for w in low]

    def read(self) -> StateAsked | None:
        """What is asked."""
        if (
            self.owner.told
            and {"my", "our", "mine", "i", "me"} & {w for i, w in enumerate(self.low) if i not in self.owner.places}
            and self._mode() != WHEN
            and self.low[:2]
            not in (
                ["remind", "me"],
                ["tell", "me"],
                ["give", "me"],
                ["show", "me"],
            )
            and (not set(self.low[:5]) & {"can", "do", "would"} or {"my", "our", "mine"} & set(self.low))
        ):
            return None
        for names, places in self._cues():
            found = self._answer(names, places)
            if found is not None:
                return found
        return self._open()

    def _cues(self) -> list[tuple[tuple[str, ...], frozenset[int]]]:
        """Slots and the places of the words that speak of them: nouns before verbs, long before short."""
        found: list[tuple[int, tuple[str, ...], frozenset[int]]] = []
        for i, word in enumerate(self.plain):
            longest = (
                0
                if i in self.owner.places or (word in _NO_NOUNS and self.plain[i - 1 : i] != ["my"])
                else self.cues.first.get(word, 0)
            )
            for size in range(longest, 0, -1):
                names = self.cues.nouns.get(" ".join(self.plain[i : i + size]))
                if names:
                    found.append((-size, names, frozenset(range(i, min(i + size, len(self.plain))))))
                    break
        by_verb: dict[frozenset[int], list[str]] = {}
        for i, word in enumerate(self.plain):
            if i in self.owner.places or not i:
                continue
            for rest, name in self.cues.verbs.get(word, ()):
                if (word in _PLAIN_VERBS or word in PREPOSITIONS) and not any(
                    w not in PREPOSITIONS and w not in ("a", "the") for w in rest
                ):
                    continue
                at = [j for j, w in enumerate(self.plain) if w in rest and j not in self.owner.places]
                content = [w for w in rest if w not in PREPOSITIONS]
                if any(w not in self.plain for w in content):
                    continue
                if (
                    rest
                    and rest[-1] in PREPOSITIONS
                    and rest[-1] not in self.plain
                    and (
                        "where" not in self.low[0]
                        or name not in _WHERE
                        or rest[-1] not in ("in", "at", "to", "for", "with")
                    )
                ):
                    continue
                by_verb.setdefault(frozenset((i, *at)), []).append(name)
        verbs = [(-len(p), tuple(dict.fromkeys(names)), p) for p, names in by_verb.items()]
        ordered = [*sorted(found, key=lambda f: f[0]), *sorted(verbs, key=lambda f: f[0])]
        return [(names, places) for _, names, places in ordered]

    def _answer(self, names: tuple[str, ...], places: frozenset[int]) -> StateAsked | None:
        liked = [i for i, w in enumerate(self.plain) if w in LIKED]
        first = self.low[0]
        kept = []
        for name in names:
            slot = self.slots.get(name)
            if slot is None or (name in self.cues.liked and not liked):
                continue
            if (
                first.startswith("who")
                and slot.kind not in ("person", "organisation", "titled", "any")
                and name != "job"
            ):
                continue
            if first.startswith("where") and name not in _WHERE and slot.kind not in ("place", "organisation"):
                continue
            kept.append(name)
        if not kept or not self._fitting(kept[0], places):
            return None
        if mode_first(self.low) and kept[0] == "address" and not {"address", "addresses"} & set(self.low):
            return None
        if kept[0] in _KIN and not {"who", "who's", "whos", "name", "names", "name's", "called", "whom", "bff"} & set(
            self.low
        ):
            return None
        mode = self._mode()
        noun = any(w in self.cues.nouns for w in (" ".join(self.plain[i] for i in sorted(places)),))
        if mode == WHEN and not noun:
            return None
        if not self._owned(places):
            return None
        used = set(places) | self.owner.places | (set(liked) if kept[0] in self.cues.liked else set())
        left = [i for i, w in enumerate(self.low) if i not in used and not self._empty(i, w, mode, kept)]
        value = ""
        if left:
            if mode != WHEN or len(left) > 3 or left[-1] - left[0] >= len(left) + 1 or not self._valued(left):
                return None
            value = " ".join(self.tokens[i] for i in left)
        return self._made(tuple(kept), mode, value, SURE)

    def _owned(self, places: frozenset[int]) -> bool:
        """Whether it is somebody's: of a bare noun only in a fragment ("wifi password please")."""
        if self.mine or self.owner.told:
            return True
        bare = not {
            "the",
            "a",
            "an",
            "all",
            "some",
            "any",
            "many",
            "that",
            "this",
            "these",
            "is",
            "are",
            "was",
            "did",
            "do",
        } & set(self.low)
        return bare and len(self.low) <= len(places) + 2

    def _valued(self, left: list[int]) -> bool:
        return any(not self.tokens[i].islower() for i in left) or not {"become", "became"}.isdisjoint(self.low)

    def _fitting(self, name: str, places: frozenset[int]) -> bool:
        """Whether nothing before a noun makes it another thing: "at my gym", "near my home"."""
        at = min(places) - 1
        while at >= 0 and (self.low[at] in ("my", "our", "the", "a", "new", "current") or at in self.owner.places):
            at -= 1
        before = self.low[at] if at >= 0 else ""
        own = {"my", "our"} & set(self.low[at + 1 : min(places)])
        if {"a", "an"} & set(self.low[at + 1 : min(places)]) and "there" not in self.low:
            return False
        if before in ("in", "on") and own:
            return False
        if before in ("at", "near", "from", "with", "without", "like", "behind", "around", "after", "before"):
            return min(places) in (0,) or self.low[max(0, min(places) - 1)] not in ("my", "our")
        return not (
            before == "for" and name in ("birthday", "diet", "car", "home", "gym") and {"my", "our"} & set(self.low)
        )

    def _empty(self, i: int, word: str, mode: str, names: list[str]) -> bool:
        if word in _ASK or self.plain[i] in _ASK:
            return True
        if any(name in self.cues.nouns.get(self.plain[i], ()) for name in names):
            return True
        if any(name == names[0] for _, name in self.cues.verbs.get(self.plain[i], ())):
            return True
        if mode == HISTORY and (word in _HISTORY or word in _PREVIOUS or word in TALK):
            return True
        if mode in (PREVIOUS, THEN) and (word in _PREVIOUS or word in ("then", "back", "current")):
            return True
        if self.windowed and (word[:1].isdigit() or word in _TIMES):
            return True
        return mode == WHEN and word in _WHEN

    def _mode(self) -> str:
        words, first = set(self.low), self.low[0]
        pairs = {f"{a} {b}" for a, b in zip(self.low, self.low[1:], strict=False)}
        if words & _TELLS_HISTORY or "how often" in pairs or {"gone", "through"} <= words or "in order" in pairs:
            return HISTORY
        if first == "how" and words & {"changed", "change", "develop", "move", "moved", "shift", "shifted"}:
            return HISTORY
        if (
            (words & {"every", "all", "list", "which", "what", "walk", "run", "far"})
            and words
            & {
                "i've",
                "been",
                "had",
                "far",
                "through",
            }
            and not words & {"before", "previously"}
            and ("had" not in words or words & {"have", "has", "every", "all", "i've", "so"})
        ):
            return HISTORY
        if first in ("list", "walk", "run") and not words & {"current"}:
            return HISTORY
        if (
            first in ("when", "when'd", "since", "when's")
            or "since when" in pairs
            or "how long" in pairs
            or {"date", "change"} <= words
        ):
            return WHEN if first != "when's" else NOW
        if "back then" in pairs or "at the time" in " ".join(self.low):
            return THEN
        if words & (_PREVIOUS - {"last", "used", "past", "old"}) or pairs & {
            "used to",
            "last one",
            "my old",
            "old one",
        }:
            return THEN if self.windowed else PREVIOUS
        if words & {"last", "old", "past"} and not words & {"how", "last name", "years"}:
            return PREVIOUS
        if self.windowed:
            return THEN
        return NOW

    def _made(self, names: tuple[str, ...], mode: str, value: str, sure: float) -> StateAsked | None:
        if mode == WHEN and self.low[0] == "when" and names[0] in _DATES and not value:
            mode = NOW
        return StateAsked(slots=names, subject=self.owner.subject, mode=mode, value=value, confidence=sure)

    def _open(self) -> StateAsked | None:
        """ "Locker code please", "which parking spot is mine"."""
        mode = self._mode()
        for i, word in enumerate(self.plain):
            if (
                i in self.owner.places
                or (word not in known.ATTRIBUTE_HEADS and word.rstrip("s") not in known.ATTRIBUTE_HEADS)
            ) and word not in self.cues.nouns:
                continue
            begin = i
            while begin and i - begin < 3 and begin - 1 not in self.owner.places and self._noun_word(begin - 1, mode):
                begin -= 1
            name = open_name(" ".join(self.low[begin : i + 1]))
            if begin == i or not name:
                continue
            called = slots_called(name, self.slots)
            if (
                not called
                or not called[0].startswith(OPEN)
                or name in known.OPEN_NOT
                or not self._fitting("", frozenset((begin,)))
            ):
                continue
            used = set(range(begin, i + 1)) | self.owner.places
            left = [j for j, w in enumerate(self.low) if j not in used and not self._empty(j, w, mode, [""])]
            if (left and (mode != WHEN or len(left) > 3)) or not self._owned(frozenset(range(begin, i + 1))):
                continue
            value = " ".join(self.tokens[j] for j in left)
            return self._made(called, mode, value, OPEN_SURE)
        return self._for_my(mode)

    def _for_my(self, mode: str) -> StateAsked | None:
        """ "The code for my locker"."""
        for i, word in enumerate(self.low):
            if (
                word in ("for", "of", "on")
                and i > 0
                and self.low[i + 1 : i + 2] in (["my"], ["our"])
                and i + 2 < len(self.low)
            ):
                head, noun = self.low[i - 1], self.low[i + 2]
                if head in known.ATTRIBUTE_HEADS and noun not in _ASK and noun not in known.RELATIONS:
                    left = [
                        j
                        for j, w in enumerate(self.low)
                        if j not in (i - 1, i, i + 1, i + 2) and not self._empty(j, w, mode, [""])
                    ]
                    if not left:
                        return self._made(slots_called(f"{noun} {head}", self.slots), mode, "", OPEN_SURE)
        return None

    def _noun_word(self, i: int, mode: str) -> bool:
        word = self.low[i]
        return (
            word.isalpha() and word not in _ASK and word not in _PREVIOUS and not (mode == HISTORY and word in _HISTORY)
        )


_PLAIN_VERBS = frozenset(
    form
    for verb in "be go turn do have take use get see make keep run call learn spend try give move come live"
    " start eat join stay"
    " begin pay drop cover find hit read show send mail write like put set play go date pop follow stop quit"
    " become do change"
    " leave travel pick share text message meet visit bring teach grow study ask work enjoy land kick".split()
    for form in (("am", "is", "are", "was", "were", "been", "be") if verb == "be" else forms(verb))
)
_NO_NOUNS = _set(
    "done finished ready out live lives living v so born eating code coding so happens meets held runs leads"
    " heads drive care"
    " training exercise garage door date due working code post item cover move"
)
_KIN = frozenset("sibling child parent friend pet partner colleague roommate".split())
_NO_KIN = _set("partner doctor dentist dog cat pet boss manager coach trainer teacher landlord landlady therapist")
_TIMES = _set(
    "january february march april may june july august september october november december monday tuesday"
    " wednesday thursday"
    " friday saturday sunday spring summer autumn fall winter week weeks month months year years day days ago"
    " last this early"
    " late mid beginning end middle start during around yesterday christmas easter quarter half first second"
    " third weekend back"
)
