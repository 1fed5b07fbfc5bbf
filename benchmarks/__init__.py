"""What `recall bench` runs: quality on research data and on one's own, other libraries beside ours, speed, misses.

It is in the repository and not in the wheel. `recall bench` finds it from a checkout
(`console/commands/measure.py`); what users measure of a store of their own is `recall_integrations.evaluation`.
"""
