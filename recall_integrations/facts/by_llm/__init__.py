"""Facts that a language model reads: the prompt, and the check of its answer.

    texts ─ door (redacted) ─ prompt ─▶ LLM ─▶ JSON lines ─ answers ─▶ claims by message
                                                  validation, each against its own text ◀──┘ ─▶ Said

A claim whose value its message does not hold is refused, so nobody is said to have told what they did not.
`store.fact_reading` decides who asks, when, and for how much.
"""
