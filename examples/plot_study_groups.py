"""
Study groups: friends together, rivals apart
============================================

Thirty-six pupils are to work in six groups of six.  Pupils at a similar level should share a
group, friends insist on staying together, rivals on staying apart, and nobody wants a group
without anyone who has taken the course before.
"""

# %%
# The pupils
# ----------
# Two scores each, made up so that the script needs no file.

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
# Pairs are written with the names of the rows; ``index=`` says what those are.  A finite
# ``weight`` makes a wish of a rule: it is granted unless it costs more than that.

friends = [("Ada", "Zoe"), ("Ben", "Ivo"), ("Cleo", "Max"), ("Max", "Sam"), ("Gia", "Pia")]
rivals = [("Dan", "Eve"), ("Dan", "Udo"), ("Eve", "Udo"), ("Ada", "Ben")]
wishes = [("Hugo", "Joy"), ("Nia", "Ole"), ("Kim", "Lea")]

rules = [
    MustLink(friends, index=pupils.index),
    CannotLink(rivals, index=pupils.index),
    MustLink(wishes, weight=60.0, index=pupils.index),
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
# The picture has friends on solid lines, rivals on dashed ones, and wishes that were too dear in
# red.

figure, ax = plt.subplots(figsize=(8, 5.5), layout="constrained")
plot_clusters(scores, model.labels_, rules, ax=ax)
ax.set(xlabel="maths", ylabel="reading")
plt.show()
