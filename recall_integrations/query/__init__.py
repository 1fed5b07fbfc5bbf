"""Text in, `ParsedQuery` out: time, entities, negation, features."""
