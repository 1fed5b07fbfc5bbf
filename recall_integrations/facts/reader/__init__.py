"""What a question asks of a slot, and which slot a statement tells of, learned from phrasings: `SlotReader`.

Rules (`facts.rules`, `facts.question`) read what they have a shape for, and then the value as well. People put both in
more ways than that: "which number would a courier need", "new sim since monday". This reader knows no shapes and finds
no values. It gives each text shares over the slots of the schema, so that a question and its answers can be put
together, and the newest of these first. It is good for an order, not for a fact: nothing that it says is kept.

A linear model over the bundled static vectors and hashed words (`features`), of half a megabyte, made by
`python -m benchmarks.facts.teaching`.
"""

from recall_integrations.facts.reader.slot_reader import SlotReader, slot_reader

__all__ = ["SlotReader", "slot_reader"]
