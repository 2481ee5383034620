"""How values and errors from outside go into messages."""


def shorten(text: str) -> str:
    """A text from a file: quoted, on one line and not too long."""
    return repr(text if len(text) <= 40 else text[:37] + "...")


def one_line(error: Exception) -> str:
    """The first line of a library's error, after its type."""
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0][:200]}" if lines else type(error).__name__
