"""Makes `space_trees` importable, which makes spaces of every shape (test folders are not packages)."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "spaces"))
