"""
Ionosphere: what round clusters miss
====================================

Radar echoes from the ionosphere are good or bad.  Good ones vary less, and bad ones lie around and
among them.  k-means assumes clusters of equal width and cannot say that.  Gaussian clusters can:
each has a width and directions of its own.  Both take the same links.
"""

# %%
# The data and the rules
# ----------------------
# There are 351 echoes with 33 features.  We know 20 pairs of the same class and 20 pairs of
# different classes.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.decomposition import PCA
from sklearn.metrics import adjusted_rand_score

from corral import ConstrainedGaussianMixture, ConstrainedKMeans
from corral.datasets import load_ionosphere, random_links

N_LINKS = 20
echoes = load_ionosphere()
X, y = echoes.data, echoes.target
links = random_links(y, N_LINKS, N_LINKS, random_state=0)

# %%
# Two models under the same links
# -------------------------------
# No link is broken by either model.  The agreement with the classes is measured by the adjusted
# Rand index: 1 for the same clusters, about 0 for random ones.

COVARIANCE = "full"
models = {
    "k-means": ConstrainedKMeans(2, random_state=0),
    "Gaussian clusters": ConstrainedGaussianMixture(2, covariance=COVARIANCE, random_state=0),
}
for name, model in models.items():
    model.fit(X, constraints=links)
    score = adjusted_rand_score(y, model.labels_)
    print(f"{name}: ARI {score:.2f}, all links obeyed: {model.report_.feasible}")

# %%
# What they see
# -------------
# The picture shows the two directions in which the echoes differ most; good echoes are blue.  In
# this plane the classes lie on top of each other, and k-means can only cut it in two.  The Gaussian
# clusters tell most of them apart, by how much the other features vary.

flat = PCA(2).fit_transform(X)
panels = {"classes": y, **{name: model.labels_ for name, model in models.items()}}
figure, axes = plt.subplots(1, 3, figsize=(12, 4), layout="constrained", sharex=True, sharey=True)
for ax, (name, labels) in zip(axes, panels.items(), strict=True):
    # The cluster that holds most of the good echoes is drawn in the same colour everywhere.
    good = np.bincount(labels[y == y[0]]).argmax()
    for own, colour, marker in ((labels != good, "#d95f02", "x"), (labels == good, "#1b6ca8", "o")):
        ax.scatter(*flat[own].T, s=14, c=colour, marker=marker, linewidths=0.8, alpha=0.7)
    score = adjusted_rand_score(y, labels)
    ax.set_title(name if name == "classes" else f"{name}: ARI {score:.2f}")
    ax.set_xlabel("first direction")
axes[0].set_ylabel("second direction")
plt.show()

# %%
# How wide the clusters are
# -------------------------
# The standard deviations of the features inside each cluster: the cluster of the good echoes is
# narrower in nearly all of them.

mixture = models["Gaussian clusters"]
widths = np.sqrt(np.diagonal(mixture.covariances_, axis1=1, axis2=2))
narrow, wide = np.argsort(widths.mean(axis=1))
figure, ax = plt.subplots(figsize=(8, 3.2), layout="constrained")
features = np.arange(X.shape[1])
ax.plot(features, widths[wide], "x-", color="#d95f02", lw=1, label="wide cluster")
ax.plot(features, widths[narrow], "o-", color="#1b6ca8", lw=1, ms=4, label="narrow cluster")
ax.set_xlabel("feature")
ax.set_ylabel("standard deviation")
ax.set_ylim(0)
ax.legend(frameon=False)
plt.show()
