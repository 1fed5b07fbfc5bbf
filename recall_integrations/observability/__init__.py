"""Progress of long work, and metrics, traces and logs of recalls."""
