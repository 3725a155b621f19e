"""Parts of ``bench.py``: methods, jobs, the processes that run them, tables and pictures."""

import sys
from pathlib import Path

# The reference methods (module ``reference``) are in the folder of the tests.
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))
