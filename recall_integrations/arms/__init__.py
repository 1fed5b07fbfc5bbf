"""The arms of a recall: each looks for candidates in its own way."""

from recall_integrations.arms.base import Arm, ArmRequest, ArmResult
from recall_integrations.arms.retrievers import ArmSpec

__all__ = ["Arm", "ArmRequest", "ArmResult", "ArmSpec"]
