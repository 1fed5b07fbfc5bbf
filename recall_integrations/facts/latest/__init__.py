"""Which of the candidates of a search is the latest that tells what is asked: a small model over all of them together.

A question and one memory say little: "we traded Ironworks for Boulderhaus" may answer "where do I lift?" or not. Beside
the other candidates it says more: of whom each speaks, how well each is found, what the slot reader sees in each, what
was read of each, and which of them is later. The model was taught from made-up histories, worded by people who knew
neither the rules nor the questions that measure (`benchmarks.facts.teaching_latest`), from scenes, each of another kind
of thing (`benchmarks.facts.scenes`), and from real questions that ask for no state, where it must say nothing. It
changes the order of candidates, never a fact.
"""

from recall_integrations.facts.latest.evidence import Candidate, Comparing, Question, evidence
from recall_integrations.facts.latest.model import LatestModel, latest_model
from recall_integrations.facts.latest.pairing import Pairing

__all__ = ["Candidate", "Comparing", "LatestModel", "Pairing", "Question", "evidence", "latest_model"]
