"""The read path: a list of stages, and the runner that takes a recall through them."""

from recall_integrations.recall.runner import Observer, RecallState, Runner, Stage, StageEvent, Turn

__all__ = ["Observer", "RecallState", "Runner", "Stage", "StageEvent", "Turn"]
