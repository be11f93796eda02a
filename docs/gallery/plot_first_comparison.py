"""
A first comparison
==================

Four shapes, three sizes each, in poses of their own. Anchor Energy tells shapes and sizes apart; its robust form, on
ranks, sees the shape alone.
"""

import matplotlib.pyplot as plt

import anchorot as ao
from anchorot.examples import gallery

examples = [example for example in gallery(80) if example.kind in ("sphere", "torus", "spring", "dumbbell")]
spaces = [example.space for example in examples]
kinds = [example.kind for example in examples]

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.6), layout="constrained")
ao.plot.distance_map(ao.pairwise(spaces), kinds, ax=left)
left.set_title("Anchor Energy")
ao.plot.distance_map(ao.pairwise(spaces, robust=True), kinds, ax=right)
right.set_title("robust")
