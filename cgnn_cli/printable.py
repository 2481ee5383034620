"""Text that may be shown: what a terminal would obey, or could not write, stands as a visible escape."""

import re

# Control characters (C0, DEL, C1), line separators, what turns the direction of writing, and halves of characters, as
# Python makes of bytes in names of files that are not UTF-8.
UNPRINTABLE = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
SHORT = {"\n": r"\n", "\r": r"\r", "\t": r"\t"}


def printable(text: str) -> str:
    """A text on one line, in which all can be seen: `\\x1b`, `\\n`, and `\\xff` for a byte that is no UTF-8."""
    return UNPRINTABLE.sub(lambda found: _escape(found[0]), text)


def _escape(character: str) -> str:
    code = ord(character)
    if 0xDC80 <= code <= 0xDCFF:
        code -= 0xDC00
    return SHORT.get(character) or (f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}")


def printable_json(text: str) -> str:
    """JSON whose texts hold no such character, and still mean the same."""
    return UNPRINTABLE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def signed_text(value: float, digits: int = 2) -> str:
    """A difference with its sign; what is nothing when rounded has none, and is no -0.00."""
    text = f"{value:+z.{digits}f}"
    return text[1:] if not float(text) else text
