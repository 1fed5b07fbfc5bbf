"""The read path: a list of stages, and the runner that takes a recall through them."""

from recall_integrations.recall.runner import Observer, Runner, Stage, StageEvent, Turn
from recall_integrations.recall.state import RecallState

__all__ = ["Observer", "RecallState", "Runner", "Stage", "StageEvent", "Turn"]
