"""Texts around the facts: what one writes before and after them, and what has nothing to do with them."""

from __future__ import annotations

import random

BEFORE = {
    "dev": ("quick update: ", "by the way, ", "hi, ", "note to self: ", "oh and ", "so, ", "FYI, ", "one more thing: "),
    "test": (
        "ok listen. ", "before I forget - ", "hey hey, ", "since you asked: ", "small thing, ", "right, ", "PS: ",
        "long day! anyway, ",
    ),
}  # fmt: skip
AFTER = {
    "dev": (" Just so you know.", " Talk soon!", " Busy week otherwise.", " Thanks!", " I'll tell the others as well."),
    "test": (
        " Off to bed now.", " Not that anybody cares, ha.", " More when I'm back from the shops.", " Cheers, all good.",
        " And the kettle is broken, of course.",
    ),
}  # fmt: skip

_WHAT = (
    "the printer on the second floor", "the train", "the neighbours' party", "the weather", "the bakery downstairs",
    "that documentary about whales", "the elevator", "the garden fence", "the board game night", "the museum",
    "the parade", "the swimming lake", "the podcast about volcanoes", "the quiz", "the flea market", "the thunderstorm",
    "the new roundabout", "the jigsaw puzzle", "the choir concert", "the power cut",
)  # fmt: skip
_SAID = (
    "{what} was great today.", "Honestly, {what} again. I can't believe it.", "Did you hear about {what}?",
    "We spent half the afternoon on {what}.", "I was late because of {what}.", "Remind me to tell you about {what}.",
    "There was a long queue, all because of {what}.", "Everyone keeps talking about {what}.",
    "I took a few photos of {what}.", "Could have done without {what} this morning.",
    "Nothing much going on, except for {what}.", "Ask me about {what} when we meet.",
    "Somebody wrote a funny poem about {what}.", "I fell asleep thinking about {what}.",
)  # fmt: skip
REPLIES = (
    "Thanks, noted.", "Got it, I'll keep that in mind.", "Understood. Anything else I can do for you?",
    "Sure, I've made a note of it.", "Okay! Let me know if something changes.", "Alright, thank you for telling me.",
)  # fmt: skip


def chat(random_: random.Random) -> str:
    """Something about nothing that is asked for."""
    said = random_.choice(_SAID).format(what=random_.choice(_WHAT))
    return said[0].upper() + said[1:]
