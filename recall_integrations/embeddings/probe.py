"""What a cosine of an embedding is worth: how well it tells what answers a question from what does not.

A weak embedding beside good words is noise, a strong one is the best evidence there is. Which of the two a store has is
measured once, when it first embeds something: `PAIRS` are questions and answers that share as few words as can be, made
up for this. Each question looks for its answer among all answers; the mean reciprocal rank, between that of chance and
that of all-MiniLM-L6-v2, becomes the factor by which the ranker weighs cosines (1 = the bundled embedding).

The two points between which the factor is a straight line are set by hand: what the bundled
model and MiniLM reach here, and the factor that ranks best with MiniLM on the sets that the weights were chosen on.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from recall_integrations.embeddings.base import Embedding
from recall_integrations.errors import EmbeddingError

PAIRS: tuple[tuple[str, str], ...] = (
    ("Where does she live now?", "Her new flat is in Lisbon, close to the river"),
    ("What pet do they have?", "The puppy chewed my slippers again this morning"),
    ("How did he get hurt?", "A fall from the ladder broke his wrist"),
    ("Which illness was diagnosed?", "The doctor said it is diabetes"),
    ("What does the firm sell?", "We make shoes and ship them to forty countries"),
    ("Why was the launch postponed?", "A bug in the payment code kept us from releasing in time"),
    ("When do we eat?", "Dinner is served at seven"),
    ("How much did the car cost?", "They paid nine thousand for the used Volvo"),
    ("Who teaches the children?", "Mrs Alder has been at the school since spring"),
    ("What is the weather like?", "It has rained without a pause since Monday"),
    ("What can't I eat?", "Peanuts make you ill, so leave the satay alone"),
    ("Which instrument is being learned?", "Cello lessons are on Thursdays"),
    ("How are trees damaged?", "Beetles bore under the bark of the spruces until they die"),
    ("What heats the house?", "A pump takes warmth out of the ground"),
    ("Where was the money hidden?", "Cash lay under the floorboards of the attic"),
    ("Did they win?", "Our team lost the final by two goals"),
    ("What language is spoken there?", "Most people in the valley talk Romansh"),
    ("How did you travel?", "The night train brought us to Vienna"),
    ("What should be improved?", "Customers complain about the slow support"),
    ("Which job did she leave?", "After ten years as a nurse she quit"),
    ("How is bread made to rise?", "Yeast turns sugar into gas that swells the dough"),
    ("What causes tides?", "The moon's gravity pulls at the oceans"),
    ("How do vaccines protect?", "The immune system learns to recognise a harmless part of the virus"),
    ("Why do prices go up?", "Inflation follows when too much money chases too few goods"),
    ("What stops the database from being slow?", "An index on the column made the query fast"),
    ("How is the password kept safe?", "Secrets are hashed with a salt before they are stored"),
    ("Which server went down?", "The outage began when the mail host lost power"),
    ("Who painted it?", "The canvas is by a pupil of Vermeer"),
    ("What sport does he do?", "Every weekend he climbs in the gym"),
    ("How long is the contract?", "The lease runs for three years"),
    ("Is she married?", "My wife and I met at university, says Dana of Ruth"),
    ("What was stolen?", "Thieves took the bicycle from the yard"),
    ("Where can I park?", "Leave the van in the garage behind the station"),
    ("What did the judge decide?", "The court found him not guilty"),
    ("How do birds find their way?", "Migrating swallows sense the magnetic field"),
    ("What is grown on the farm?", "Wheat and barley stand on the fields"),
    ("Who repairs the roof?", "A carpenter comes to fix the tiles"),
    ("Which film did you like?", "That movie about the lighthouse keeper moved me most"),
    ("What helps against stress?", "Meditation calms me after work"),
    ("When was the bridge built?", "Engineers finished the crossing in 1932"),
)
CHANCE, BUNDLED, STRONG = 0.107, 0.705, 0.971  # mean reciprocal rank: random order, the bundled model, MiniLM
WORTH_OF_STRONG, WORTH_MAX = 5.0, 6.0


def mean_reciprocal_rank(embedding: Embedding) -> float:
    """Of each answer among all of them, by cosine with its question.

    Raises:
        EmbeddingError: the embedding failed, or gave numbers that are not finite.
    """
    # One call for all: an embedding may be a paid service.
    rows = _unit(np.asarray(embedding.embed_documents([text for pair in PAIRS for text in pair])))
    cosines = np.einsum("id,jd->ij", rows[::2], rows[1::2])
    own = np.diagonal(cosines)[:, None]
    if not np.isfinite(cosines).all():
        raise EmbeddingError("The embedding gave numbers that are not finite.")
    # Of equal ones, the middle place: an embedding that is the same for every text tells nothing.
    places = 1 + (cosines > own).sum(axis=1) + ((cosines == own).sum(axis=1) - 1) / 2
    return float((1 / places).mean())


def worth(reached: float) -> float:
    """Factor of cosines, from 0 (chance) over 1 (the bundled model) to `WORTH_MAX`."""
    if reached <= BUNDLED:
        return max(0.0, (reached - CHANCE) / (BUNDLED - CHANCE))
    return min(WORTH_MAX, 1 + (WORTH_OF_STRONG - 1) * (reached - BUNDLED) / (STRONG - BUNDLED))


def _unit(rows: NDArray[np.floating]) -> NDArray[np.float32]:
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    unit: NDArray[np.float32] = (rows / np.maximum(norms, 1e-12)).astype(np.float32)
    return unit
