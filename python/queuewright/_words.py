"""What there is to choose from."""

import json
from typing import Any

from queuewright import _native


def disciplines() -> list[dict[str, Any]]:
    """All disciplines: name, title, about, source, and parameters with unit, default, range and source."""
    found: list[dict[str, Any]] = json.loads(_native.catalog())["disciplines"]
    return found


def explain(name: str) -> str:
    """The page on a discipline or a congestion control, as Markdown.

    Raises:
        Error: If nothing is called so; it names what is.
    """
    return _native.explain(name)
