"""
Digits with one label in a hundred
==================================

Of 1,797 handwritten digits only eighteen have been read by a person.  How much do they help?
"""

# %%
# Labels that are known go in as :func:`~corral.from_labels`, where -1 means unknown.  Each known
# row is pinned to the cluster of its class, so that cluster j *is* digit j, and the rest follows.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits
from sklearn.metrics import accuracy_score, adjusted_rand_score
from sklearn.neighbors import KNeighborsClassifier

from corral import ClusterSizes, ConstrainedKMeans, from_labels

N_SAMPLES = 1797

digits = load_digits()
X, y = digits.data[:N_SAMPLES], digits.target[:N_SAMPLES]

rng = np.random.default_rng(1)
known = np.full(len(y), -1)
for digit in range(10):  # every digit once, then eight at random
    row = rng.choice(np.flatnonzero(y == digit))
    known[row] = digit
rows = rng.choice(np.flatnonzero(known == -1), 8, replace=False)
known[rows] = y[rows]
print(f"{np.sum(known >= 0)} of {len(y)} labels are known")

# %%
# A second thing is known without looking: digits are about equally frequent.

some = len(y) // 10
rules = [from_labels(known), ClusterSizes(minimum=some - 10, maximum=some + 10)]
model = ConstrainedKMeans(n_clusters=10, n_init=2, random_state=0).fit(X, constraints=rules)
print(model.report_)

# %%
# Compared with what sees only the labels, and with what sees only the pixels.

seen = known >= 0
nearest = KNeighborsClassifier(n_neighbors=1).fit(X[seen], y[seen]).predict(X)
plain = KMeans(n_clusters=10, n_init=10, random_state=0).fit(X)

print("                     accuracy   adjusted Rand index")
print(f"nearest neighbour     {accuracy_score(y, nearest):.3f}      ", end="")
print(f"{adjusted_rand_score(y, nearest):.3f}")
print(f"k-means               (no names) {adjusted_rand_score(y, plain.labels_):.3f}")
print(f"corral                {accuracy_score(y, model.labels_):.3f}      ", end="")
print(f"{adjusted_rand_score(y, model.labels_):.3f}")

# %%
# The centres, one for each digit, in order because the pins say so.

figure, axes = plt.subplots(1, 10, figsize=(10, 1.5), layout="constrained")
for digit, (ax, centre) in enumerate(zip(axes, model.cluster_centers_, strict=True)):
    ax.imshow(centre.reshape(8, 8), cmap="gray_r")
    ax.set_title(digit, fontsize=11)
    ax.set_axis_off()
plt.show()
