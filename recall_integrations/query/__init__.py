"""Read a text into a `ParsedQuery`: time, entities, negation, features."""
