"""Ranks: the processes that torchrun starts, on one machine or several, as one computation.

Rank 0 runs the command as a single process would: it alone reads, decides, prints and publishes. The others hold what
it gives them, rows of matrices mostly, and do what it asks for. So no two of them can come to different decisions, and
what is not asked of them is done by rank 0 alone. Without torchrun nothing here does anything, and torch is not
imported.
"""
