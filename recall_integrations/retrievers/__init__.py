"""The five sub-retrievers, each with its write and its search side, and the fan-out that asks them."""
