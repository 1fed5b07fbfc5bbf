"""Notes: tokens ─ cues ─ finding ─ ops ─ telling ─ anchors, open_slots ─ note.

`gate` says whether a text is read so at all; `unread`, at a recall, whether one that could not be read casts doubt.
"""
