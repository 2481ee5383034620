"""The grid of teleports whose PageRank operators are the views of DiGCL, and their names."""

GRID = tuple(hundredths / 100 for hundredths in range(10, 95, 5))


def view_name(teleport: float) -> str:
    """The name of the view that is nearest to a teleport."""
    nearest = min(GRID, key=lambda known: abs(known - teleport))
    return f"view-{nearest:.2f}"
