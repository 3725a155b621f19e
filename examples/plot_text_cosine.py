"""
Shelves of texts by cosine
==========================

A long text and a short one on the same topic use the same words, the long one more often.  The
cosine compares only how words are shared out.  Here texts of very different lengths are put on
shelves of limited size, by their plain word counts.
"""

# %%
# The texts
# ---------
# Excerpts from docstrings of NumPy and SciPy, which are installed with corral.  Their lengths are
# drawn at random, from 20 words up to 400.  Counts are a sparse matrix, and stay one.

import inspect
import re

import matplotlib.pyplot as plt
import numpy as np
from scipy import linalg, ndimage, signal, special, stats
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.metrics import adjusted_rand_score

from corral import ClusterSizes, ConstrainedKMeans

N_TEXTS = 300
MODULES = [linalg, np.random, signal, ndimage, stats, special]

rng = np.random.default_rng(0)
texts, module = [], []
for number, source in enumerate(MODULES):
    for name in sorted(source.__all__):
        words = re.findall("[a-z]{3,}", (inspect.getdoc(getattr(source, name)) or "").lower())
        if len(words) >= 40:
            length = int(np.exp(rng.uniform(np.log(20), np.log(min(len(words), 400)))))
            start = rng.integers(len(words) - length + 1)
            texts.append(" ".join(words[start : start + length]))
            module.append(number)
chosen = rng.permutation(len(texts))[:N_TEXTS]
texts, module = [texts[i] for i in chosen], np.array(module)[chosen]
vectorizer = CountVectorizer(stop_words="english", max_df=0.3)
X = vectorizer.fit_transform(texts)
words = np.asarray(X.sum(axis=1)).ravel()
print(f"{len(texts)} texts with {words.min()} to {words.max()} counted words")

# %%
# Two metrics, one rule
# ---------------------
# Each shelf holds at most 30 % of the texts and at least 5 %.  The model does not know which
# package a text is from.

K = len(MODULES)
rules = ClusterSizes(minimum=len(texts) // 20, maximum=3 * len(texts) // 10)
models = {}
for metric in ("euclidean", "cosine"):
    models[metric] = ConstrainedKMeans(K, metric=metric, n_init=1, random_state=0)
    models[metric].fit(X, constraints=rules)
    agreement = adjusted_rand_score(module, models[metric].labels_)
    print(f"{metric}: agreement with the packages (adjusted Rand index) {agreement:.2f}")
print(models["cosine"].report_)

# %%
# The topic of each shelf by cosine: the words with the largest weights in its centre.

terms = vectorizer.get_feature_names_out()
for shelf, centre in enumerate(models["cosine"].cluster_centers_):
    print(f"shelf {shelf}: {', '.join(terms[np.argsort(centre)[:-7:-1]])}")

# %%
# By Euclidean distance of counts, shelves depend on the lengths: short texts are near each other,
# whatever they are about.  By cosine, each shelf has short texts and long ones.

figure, axes = plt.subplots(1, 2, figsize=(9, 3.4), sharey=True, layout="constrained")
for ax, (metric, model) in zip(axes, models.items(), strict=True):
    shelves = [words[model.labels_ == shelf] for shelf in range(K)]
    ax.boxplot(shelves, positions=range(K), widths=0.6, showfliers=False, medianprops={"lw": 2})
    ax.set_yscale("log")
    ax.set_xlabel("shelf")
    ax.set_title(f"{metric}", loc="left", fontsize=10)
axes[0].set_ylabel("counted words in a text")
plt.show()
