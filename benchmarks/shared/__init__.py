"""What several benchmarks share: reports, bars, the gate to the packages they need, embeddings that are kept."""
