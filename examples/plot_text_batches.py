"""
Batches of equal size for texts
===============================

Texts are to be handed to annotators, or to a model, in batches: all of the same size, each about
one thing, and no batch with more words than fit.  The texts stay in a sparse matrix all the way.
"""

# %%
# The texts are the docstrings of NumPy and SciPy, which are installed with corral.

import inspect
import re

import matplotlib.pyplot as plt
import numpy as np
import scipy
from scipy import linalg, ndimage, signal, special, stats
from sklearn.feature_extraction.text import TfidfVectorizer

from corral import ClusterSizes, ClusterTotals, ConstrainedKMeans
from corral.plots import plot_sizes, plot_totals

N_TEXTS = 480
BATCHES = 12

texts = {}
for module in (linalg, np.fft, np.random, signal, ndimage, stats, special):
    for name in sorted(module.__all__):
        summary = (inspect.getdoc(getattr(module, name)) or "").split("Parameters")[0]
        text = re.sub(r"[^a-z]+", " ", summary.lower())
        if 8 <= len(text.split()) <= 150:
            texts.setdefault(f"{module.__name__}.{name}", text)
names = sorted(texts)
chosen = np.random.default_rng(0).permutation(len(names))[:N_TEXTS]
names = [names[i] for i in chosen[: len(chosen) // BATCHES * BATCHES]]
words = np.array([len(texts[name].split()) for name in names])
print(f"{len(names)} texts of scipy {scipy.__version__}, {words.sum()} words")

# %%
# Exactly as many texts in each batch, and at most 15 % more words than the average.

size = len(names) // BATCHES
rules = [
    ClusterSizes([size] * BATCHES),
    ClusterTotals(words, maximum=1.15 * words.sum() / BATCHES),
]
vectorizer = TfidfVectorizer(stop_words="english", max_df=0.2, sublinear_tf=True)
X = vectorizer.fit_transform([texts[name] for name in names])
model = ConstrainedKMeans(BATCHES, n_init=1, random_state=0)
model.fit(X, constraints=rules)
print(model.report_)

# %%
# What each batch is about: the words that weigh most in its centre.

terms = vectorizer.get_feature_names_out()
for batch, centre in enumerate(model.cluster_centers_):
    inside = model.labels_ == batch
    about = ", ".join(terms[np.argsort(centre)[:-6:-1]])
    print(f"batch {batch:2}: {inside.sum()} texts, {words[inside].sum():4} words: {about}")

# %%
# Sizes and words, against their bounds.

figure, axes = plt.subplots(1, 2, figsize=(9, 3.2), layout="constrained")
plot_sizes(model.labels_, rules, ax=axes[0])
plot_totals(model.labels_, rules, ax=axes[1:])
axes[1].set_title("words in each batch", loc="left", fontsize=10)
plt.show()
