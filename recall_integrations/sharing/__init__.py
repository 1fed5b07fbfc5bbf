"""Data that processes share for seconds through a Redis, if there is one: results, phrasings, rates, breaker states.

No answer needs it: where Redis is away, late or holds something else, nothing is shared.
"""
