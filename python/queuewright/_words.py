"""What there is to choose from."""

import json
from numbers import Real
from typing import Any, SupportsFloat

from queuewright import _native
from queuewright._native import Error
from queuewright._values import real, scalar, shown, text


def disciplines() -> list[dict[str, Any]]:
    """All disciplines: name, title, about, source, and parameters with unit, default, range and source."""
    found: list[dict[str, Any]] = json.loads(_native.catalog())["disciplines"]
    return found


def explain(name: str) -> str:
    """The page on a discipline or a congestion control, as Markdown.

    Raises:
        Error: If nothing is called so; it names what is.
    """
    if not isinstance(name, str):
        raise Error(f'name = {shown(name)}: not a name; write explain("codel")')
    return _native.explain(text("name", name))


def number(value: str | SupportsFloat) -> float:
    """A rate in bits a second, a time in seconds, or a size in bytes: `number("20mbit")` is 20000000.0.

    Units are those of scenarios: bit, kbit, mbit, gbit; ns, us, ms, s; b, kb, mb, gb (powers of 1024).
    A number is itself.

    Raises:
        Error: What is none of these.
    """
    value = scalar(value)
    if isinstance(value, Real) and not isinstance(value, bool):
        return real("value", value)
    if not isinstance(value, str):
        raise Error(f'value = {shown(value)}: not a number with a unit; write a text such as "20mbit"')
    return _native.number(text("value", value))[0]
