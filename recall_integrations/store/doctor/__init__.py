"""What is wrong with the directory of a store, and mending it: `examine` and `repair`."""

from recall_integrations.store.doctor.examining import examine
from recall_integrations.store.doctor.findings import Check, Findings
from recall_integrations.store.doctor.repairing import repair

__all__ = ["Check", "Findings", "examine", "repair"]
