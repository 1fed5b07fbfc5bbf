"""Find and mend damage in the directory of a store: `examine` and `repair`."""

from recall_integrations.store.doctor.examining import examine, repair
from recall_integrations.store.doctor.findings import Check, Findings

__all__ = ["Check", "Findings", "examine", "repair"]
