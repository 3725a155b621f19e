"""
Digits with one label in a hundred
==================================

Of 1,797 handwritten digits only eighteen have a known label.  How much do these labels help?
"""

# %%
# :func:`~corral.from_labels` turns known labels into pins; -1 means unknown.  Each row with a known
# label is pinned to the cluster with the number of its digit.

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
for digit in range(10):  # one row of each digit, then eight rows at random
    row = rng.choice(np.flatnonzero(y == digit))
    known[row] = digit
rows = rng.choice(np.flatnonzero(known == -1), 8, replace=False)
known[rows] = y[rows]
print(f"{np.sum(known >= 0)} of {len(y)} labels are known")

# %%
# We also know that all digits are about equally frequent.  So each cluster gets bounds on its size.

mean_size = len(y) // 10
sizes = ClusterSizes(minimum=mean_size - 10, maximum=mean_size + 10)
rules = [from_labels(known), sizes]
model = ConstrainedKMeans(n_clusters=10, n_init=2, random_state=0).fit(X, constraints=rules)
print(model.report_)

# %%
# Compare with a nearest-neighbour classifier, which learns from the eighteen labels only, and with
# k-means, which uses no labels.

seen = known >= 0
nearest = KNeighborsClassifier(n_neighbors=1).fit(X[seen], y[seen]).predict(X)
plain = KMeans(n_clusters=10, n_init=10, random_state=0).fit(X)

print("                     accuracy   adjusted Rand index")
print(f"nearest neighbour     {accuracy_score(y, nearest):.3f}      ", end="")
print(f"{adjusted_rand_score(y, nearest):.3f}")
print(f"k-means               (no label) {adjusted_rand_score(y, plain.labels_):.3f}")
print(f"corral                {accuracy_score(y, model.labels_):.3f}      ", end="")
print(f"{adjusted_rand_score(y, model.labels_):.3f}")

# %%
# The adjusted Rand index compares groups and ignores their numbers.  By this measure both
# clusterings are much better than the classifier, and the rules help a little.  Accuracy also
# compares the numbers.  A pin fixes only its own row; with one or two pins for each digit, a
# cluster can contain mostly another digit than the pinned one.  The centres show for which clusters
# this happens.

figure, axes = plt.subplots(1, 10, figsize=(10, 1.5), layout="constrained")
for digit, (ax, centre) in enumerate(zip(axes, model.cluster_centers_, strict=True)):
    ax.imshow(centre.reshape(8, 8), cmap="gray_r")
    ax.set_title(digit, fontsize=11)
    ax.set_axis_off()
plt.show()
