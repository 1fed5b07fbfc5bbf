"""Measuring recall: data sets, metrics, peers, and the two benchmarks (quality and latency) built from them."""
