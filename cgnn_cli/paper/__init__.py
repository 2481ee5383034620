"""Experiments over the stages: what the paper printed, and whether a graph is one where commute times should help."""
