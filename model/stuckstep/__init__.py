"""stuckstep: who is paid, when and how much, when a stuck step delays the billing of a GPU cluster.

import stuckstep as ss
deal = ss.read("assumptions/superpod")
results = deal.run()
"""

from typing import Any

__all__ = ["Deal", "DealError", "__version__", "read"]


def __getattr__(name: str) -> Any:
    """Loads the package on first use, so that the command answers at once."""
    if name in ("Deal", "read"):
        from stuckstep import api

        return getattr(api, name)
    if name == "DealError":
        from stuckstep.deal import DealError

        return DealError
    if name == "__version__":
        from importlib.metadata import version

        return version("stuckstep")
    raise AttributeError(f"stuckstep has no {name}")


def __dir__() -> list[str]:
    return __all__
