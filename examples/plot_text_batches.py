"""
Batches of equal size for texts
===============================

Annotators or models often process texts in batches.  Here all batches have the same number of texts
and at most a given number of words, and the texts of a batch have similar topics.  The texts are a
sparse matrix, which is never converted to a dense one.
"""

# %%
# The texts are docstrings of NumPy and SciPy, which are installed with corral.

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
# Each batch has the same number of texts, and at most 15 % more words than the mean.

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
# The topic of each batch: the words with the largest weights in its centre.

terms = vectorizer.get_feature_names_out()
for batch, centre in enumerate(model.cluster_centers_):
    inside = model.labels_ == batch
    topic = ", ".join(terms[np.argsort(centre)[:-6:-1]])
    print(f"batch {batch:2}: {inside.sum()} texts, {words[inside].sum():4} words: {topic}")

# %%
# The number of texts and of words in each batch, with the bounds.

figure, axes = plt.subplots(1, 2, figsize=(9, 3.2), layout="constrained")
plot_sizes(model.labels_, rules, ax=axes[0])
plot_totals(model.labels_, rules, ax=axes[1:])
axes[1].set_title("words in each batch", loc="left", fontsize=10)
plt.show()
