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


def number(text: str) -> float:
    """A rate in bits a second, a time in seconds, or a size in bytes: `number("20mbit")` is 20000000.0.

    Units are those of scenarios: bit, kbit, mbit, gbit; ns, us, ms, s; b, kb, mb, gb (powers of 1024).

    Raises:
        Error: What is none of these.
    """
    return _native.number(text)[0]
