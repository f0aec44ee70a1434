"""The colour of a party: the same in every chart of the report, of the page and of the workbook."""

# Light to dark along the chain: an order that is seen without telling hues apart.
_CHAIN = ("#440154", "#472f7d", "#39568c", "#287d8e", "#1f9e89", "#4ac16d", "#a0da39", "#fde725")


def chain_colour(position: int, count: int) -> str:
    """The colour of a party by its place in the chain: dark at the chipmaker's end, light at the customer's."""
    place = position / max(count - 1, 1) * (len(_CHAIN) - 1)
    low = min(int(place), len(_CHAIN) - 2)
    share = place - low
    first, second = (tuple(int(code[index : index + 2], 16) for index in (1, 3, 5)) for code in _CHAIN[low : low + 2])
    return "#" + "".join(f"{round(a + (b - a) * share):02x}" for a, b in zip(first, second, strict=True))
