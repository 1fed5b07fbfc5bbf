"""What long work shows of itself, and what is told of recalls: metrics, traces, logs."""
