"""Without a GPU kernels run in Triton's interpreter, asked for before Triton is imported."""

from __future__ import annotations

import os

try:
    import torch
except ImportError:
    pass
else:
    if not torch.cuda.is_available():
        os.environ["TRITON_INTERPRET"] = "1"
