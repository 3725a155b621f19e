"""
Fair clusters
=============

Patients are clustered by their measurements.  Without rules, the share of women and men differs
much between the clusters, which can be a problem for a study.  :class:`~corral.GroupShares` bounds
the share of every group in every cluster.
"""

# %%
# The diabetes data of scikit-learn: 442 patients.  Their sex is known, but is not a feature here.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.preprocessing import StandardScaler

from corral import ConstrainedKMeans, GroupShares
from corral.plots import plot_totals

N_SAMPLES = 442
K = 4

data = load_diabetes(as_frame=True).data[:N_SAMPLES]
sex = np.where(data["sex"] > 0, "sex 1", "sex 2")
X = StandardScaler().fit_transform(data.drop(columns="sex"))
for group in np.unique(sex):
    print(f"{group}: {np.mean(sex == group):.0%} of the patients")

# %%
# Each sex must be at least 42 % of each cluster.

fair = GroupShares(sex, minimum=0.42)
free = ConstrainedKMeans(K, n_init=3, random_state=0).fit(X)
model = ConstrainedKMeans(K, n_init=1, random_state=0).fit(X, constraints=fair)
print(model.report_)

# %%
# The cost of the rule is the increase in inertia.  Here it is small.

cost = model.inertia_ / free.inertia_ - 1
print(f"inertia {free.inertia_:.0f} free, {model.inertia_:.0f} fair: {cost:.1%} more")

figure, axes = plt.subplots(2, 2, figsize=(9, 6), sharey=True, layout="constrained")
plot_totals(free.labels_, fair, ax=axes[0])
plot_totals(model.labels_, fair, ax=axes[1])
for row, name in zip(axes, ("k-means", "fair"), strict=True):
    for ax, group in zip(row, np.unique(sex), strict=True):
        ax.set_title(f"{name}: share of {group}", fontsize=10, loc="left")
axes[0, 0].set_ylim(0, 0.9)
plt.show()
