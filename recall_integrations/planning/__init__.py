"""Turn a parsed query into a retrieval plan: pure, with the reasons for it."""
