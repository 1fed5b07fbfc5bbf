"""A parsed query in, a retrieval plan out: pure, and able to say why."""
