"""Facts that change: what texts say of slots, and when each value holds.

    text ─ sentences ─▶ Said ─▶ the table `facts`, beside the memory ─ timeline ─▶ which value held when
    query ─ question ─▶ Asked: the slot, and whether now, then, its history or its change is asked for

All of it is derived from memories and can be rebuilt from them; a fact never replaces a memory.
"""
