"""The one tree of errors, and the exit code of each branch.

Every error says what is wrong and where; `hint` says what to do next.
"""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from cgnn_cli.redaction import redacted


class CgnnError(Exception):
    """Something the user can act on. Its message is one line, and holds no credentials of an address."""

    exit_code: ClassVar[int] = 1
    meaning: ClassVar[str] = "a bug in cgnn"

    def __init__(self, message: str, hint: str = "") -> None:
        self.message = redacted(message)
        self.hint = redacted(hint)
        super().__init__(self.message)


class UsageError(CgnnError):
    exit_code = 2
    meaning = "wrong use: an unknown option, a value out of range, options that contradict each other"


class ClusterError(UsageError):
    """A cluster that cannot be reached, or whose workers could not do the work."""


class DataError(CgnnError):
    exit_code = 3
    meaning = "bad data: an input file that cannot be read, or a graph that the stage cannot work on"


class DoubtError(DataError):
    """A file that can be taken in more than one way; `choices` has the options that settle it, one of them a way."""

    def __init__(self, message: str, hint: str, choices: Sequence[Mapping[str, Any]]) -> None:
        super().__init__(message, hint)
        self.choices = choices


class UpstreamError(CgnnError):
    exit_code = 4
    meaning = "a missing or wrong upstream artifact"


class ForeignError(UpstreamError):
    """A file that is not provably cgnn's lies where an artifact would; it is left alone."""


class NewerFormatError(UpstreamError):
    """An artifact of a format that came later; it is left alone."""


class CorruptError(CgnnError):
    exit_code = 5
    meaning = "a corrupt artifact that was named by the user"


class BusyError(CgnnError):
    exit_code = 6
    meaning = "another process holds the lock for longer than --lock-timeout"


class ResourceError(CgnnError):
    exit_code = 7
    meaning = "not enough memory or disk, a store that cannot be read or written, or a rank of torchrun that is lost"


class NumericalError(CgnnError):
    exit_code = 8
    meaning = "a numerical failure: no convergence, or values that cannot be used"


class FetchError(CgnnError):
    exit_code = 9
    meaning = "a dataset's file is not available: not on disk with --offline, not on the mirror, or the download failed"


class CheckError(CgnnError):
    exit_code = 10
    meaning = "a check of `cgnn doctor` failed"


class StoppedEarly(CgnnError):
    exit_code = 75
    meaning = "stopped early by a signal, the state is saved; run the same command again to go on"

    def __init__(self, message: str, hint: str = "run the same command again to go on") -> None:
        super().__init__(message, hint)


INTERRUPTED = 130
BROKEN_PIPE = 141
TERMINATED = 143

EXIT_CODES: dict[int, str] = {
    0: "success",
    1: CgnnError.meaning,
    **{error.exit_code: error.meaning for error in CgnnError.__subclasses__()},
    INTERRUPTED: "stopped by Ctrl-C",
    BROKEN_PIPE: "the reader of standard output went away",
    TERMINATED: "stopped by SIGTERM",
}
