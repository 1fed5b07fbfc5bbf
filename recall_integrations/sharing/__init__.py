"""What processes share for seconds through a Redis, if there is one: results, phrasings, rates, states of breakers.

Nothing here is needed for an answer: where Redis is away, late or holds something else, there is nothing shared.
"""
