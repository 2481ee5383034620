"""cgnn: learning on directed graphs with random-walk commute times."""

__version__ = "0.1.0"
