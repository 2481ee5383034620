"""Readers of the benchmark graphs in the formats in which upstream publishes them, one module a format.

Each has `read(files)`, which takes upstream's file names with their paths and returns the graph with upstream's own
splits. Whatever a file holds, the only error is a DataError that names it.
"""
