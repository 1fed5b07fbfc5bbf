"""What only we run: other libraries beside ours, made-up data, speed, stages and rules one by one, misses laid out.

It is in the repository and not in the wheel. `recall bench` finds it from a checkout (`console/repository.py`); what
users run on data of their own is `recall_integrations.evaluation`.
"""
