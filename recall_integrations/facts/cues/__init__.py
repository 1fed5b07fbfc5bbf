"""Questions by cues: "got Priya's digits?", "who signs my paychecks".

    asking ─ whose: owners ─ which slot, which time: query ─▶ StateAsked

`lists` are the words; the cues of each slot are in `facts.cue_words`.
"""
