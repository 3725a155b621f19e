"""Let this environment see the packages of another one: python .ci/sees.py OTHER_PYTHON."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
from pathlib import Path

ASK = "import sysconfig; print(sysconfig.get_path('purelib'))"

if __name__ == "__main__":
    asked = subprocess.run([sys.argv[1], "-c", ASK], capture_output=True, text=True, check=True)
    # addsitedir, unlike a plain line, also reads the .pth files there, such as that of corral.
    line = f"import site; site.addsitedir({asked.stdout.strip()!r})\n"
    Path(sysconfig.get_path("purelib"), "other.pth").write_text(line, encoding="utf-8")
