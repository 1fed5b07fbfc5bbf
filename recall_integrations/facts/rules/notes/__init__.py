"""Notes: tokens ─ cues ─ finding ─ ops ─ telling ─ anchors, open_slots ─ note; `gate` says whether a text is read so."""
