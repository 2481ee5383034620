"""A page made up for tests."""

from cgnn_cli.report.page import Block, Page, Section


def page_with(*blocks: Block) -> Page:
    """A page of one section, Scores, with these blocks."""
    return Page("Title", "Lead", [Section("Scores", blocks)], "Made by a test.")
