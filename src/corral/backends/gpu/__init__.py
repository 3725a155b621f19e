"""Fits on a GPU: rows as PyTorch tensors, the passes of an iteration as Triton kernels.

Importing it needs nothing; :func:`hold` needs PyTorch.
"""

from .arrays import give_back, hold

__all__ = ["give_back", "hold"]
