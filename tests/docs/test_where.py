"""docs/where-it-helps.md: what it says was found is what the results beside it say."""

from tests.docs.generators import generator_of
from tests.docs.test_docs import text_of


def test_what_was_found_comes_from_the_results() -> None:
    generator = generator_of("make_where")
    page, results = text_of("where-it-helps.md"), text_of("results/where/page.md")
    assert page == generator.filled(page, results), "run `python docs/make_where.py`"
    assert generator.filled(page, results.replace("comparisons", "others")) != page
