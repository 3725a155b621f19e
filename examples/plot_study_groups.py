"""
Study groups: friends together, rivals apart
============================================

Thirty-six pupils form six groups of six.  Pupils of a similar level should be in the same group.
Friends must be together and rivals must be apart.  Each group needs at least one pupil who repeats
the course.
"""

# %%
# The pupils
# ----------
# Each pupil has two scores.  The scores are random numbers, so the script needs no file.

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from corral import CannotLink, ClusterSizes, ClusterTotals, ConstrainedKMeans, MustLink
from corral.plots import plot_clusters

NAMES = [
    *("Ada", "Ben", "Cleo", "Dan", "Eve", "Finn", "Gia", "Hugo", "Ida", "Jan", "Kim", "Lea"),
    *("Max", "Nia", "Ole", "Pia", "Quin", "Rosa", "Sam", "Tea", "Udo", "Vera", "Will", "Xena"),
    *("Yuri", "Zoe", "Amir", "Bea", "Carl", "Dora", "Emil", "Fay", "Gus", "Hana", "Ivo", "Joy"),
]
rng = np.random.default_rng(3)
pupils = pd.DataFrame(
    {
        "maths": rng.normal(60, 15, len(NAMES)).clip(0, 100).round(),
        "reading": rng.normal(65, 12, len(NAMES)).clip(0, 100).round(),
        "repeats": rng.random(len(NAMES)) < 0.3,
    },
    index=NAMES,
)
pupils.head()

# %%
# The rules
# ---------
# Pairs use the names of the rows; ``index=`` gives these names.  A finite ``weight`` makes a rule
# soft: the solver may break it, and each broken pair adds ``weight`` to the objective.

friends = [("Ada", "Zoe"), ("Ben", "Ivo"), ("Cleo", "Max"), ("Max", "Sam"), ("Gia", "Pia")]
rivals = [("Dan", "Eve"), ("Dan", "Udo"), ("Eve", "Udo"), ("Ada", "Ben")]
preferred = [("Hugo", "Joy"), ("Nia", "Ole"), ("Kim", "Lea")]

rules = [
    MustLink(friends, index=pupils.index),
    CannotLink(rivals, index=pupils.index),
    MustLink(preferred, weight=60.0, index=pupils.index),
    ClusterSizes([6] * 6),
    ClusterTotals(pupils["repeats"], minimum=1),
]

# %%
# The groups
# ----------

scores = pupils[["maths", "reading"]]
model = ConstrainedKMeans(n_clusters=6, n_init=4, random_state=0).fit(scores, constraints=rules)
print(model.report_)

for group in range(6):
    members = pupils.index[model.labels_ == group]
    print(f"group {group}: {', '.join(members)}")

# %%
# Solid lines are must-links, dashed lines are cannot-links, and red lines are broken soft pairs.

figure, ax = plt.subplots(figsize=(8, 5.5), layout="constrained")
plot_clusters(scores, model.labels_, rules, ax=ax)
ax.set(xlabel="maths", ylabel="reading")
plt.show()
