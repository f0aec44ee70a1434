"""The rules: what a deal's contracts say, as lines. They hold no numbers and know no reader."""

from .build import build
from .claims import Claim, all_claims
from .lines import Line, Lines

__all__ = ["Claim", "Line", "Lines", "all_claims", "build"]
