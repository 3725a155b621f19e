"""
Colour quantisation with fixed shares
=====================================

K-means on the pixels of a picture reduces it to a few colours.  For a mosaic or a woven picture,
the number of pieces of each colour is limited.  So here the number of pixels of each colour is
given.
"""

# %%
# The picture is part of scikit-learn.  It is made smaller here.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import KMeans
from sklearn.datasets import load_sample_image

from corral import ClusterSizes, ConstrainedKMeans

STEP = 5  # keep every fifth pixel of every fifth row

picture = load_sample_image("china.jpg")[::STEP, ::STEP] / 255.0
height, width, _ = picture.shape
pixels = picture.reshape(-1, 3)
print(f"{width} x {height} = {len(pixels)} pixels")

# %%
# Six colours: three cover a quarter of the picture each, and three cover the rest.  The solver
# decides which colour gets which share: sizes have no order unless ``ordered=True``.

shares = np.array([0.25, 0.25, 0.25, 0.10, 0.10, 0.05])
sizes = np.floor(shares * len(pixels)).astype(int)
sizes[0] += len(pixels) - sizes.sum()

free = KMeans(n_clusters=6, n_init=3, random_state=0).fit(pixels)
model = ConstrainedKMeans(n_clusters=6, n_init=1, random_state=0)
model.fit(pixels, constraints=ClusterSizes(sizes))
print(model.report_)

# %%


def draw(column, title, labels, centers):
    """Draw the picture in these colours, and below it the share of each colour."""
    order = np.argsort(centers.sum(axis=1))
    covered = np.bincount(labels, minlength=len(centers))[order] / len(labels)
    column[0].imshow(centers[labels].reshape(picture.shape).clip(0, 1))
    column[0].set_title(title, fontsize=11)
    column[0].set_axis_off()
    left = np.cumsum(covered) - covered
    column[1].barh(0, covered, left=left, color=centers[order].clip(0, 1))
    for x, share, colour in zip(left, covered, centers[order], strict=True):
        ink = "white" if colour.mean() < 0.5 else "black"
        column[1].text(x + share / 2, 0, f"{share:.0%}", ha="center", va="center", color=ink)
    column[1].set(xlim=(0, 1))
    column[1].set_axis_off()


figure, axes = plt.subplots(2, 2, figsize=(9, 4.2), height_ratios=[6, 1], layout="constrained")
draw(axes[:, 0], "k-means", free.labels_, free.cluster_centers_)
draw(axes[:, 1], "fixed shares", model.labels_, model.cluster_centers_)
plt.show()
