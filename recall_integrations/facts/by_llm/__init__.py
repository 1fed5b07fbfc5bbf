"""Facts that a language model reads: what it is asked, and what of its answer is believed.

    texts ─ door (redacted) ─ prompt ─▶ LLM ─▶ JSON lines ─ answers ─▶ claims by message
                                                  validation, each against its own text ◀──┘ ─▶ Said

A claim whose value its message does not hold is refused, so nothing here can tell what nobody said. Who asks, when, and
for how much is `store.fact_reading`.
"""
