"""docs/where-it-helps.md: what it says was found is what the results beside it say."""

from importlib.util import module_from_spec, spec_from_file_location

from tests.docs.test_docs import DOCS, text_of


def test_what_was_found_comes_from_the_results() -> None:
    spec = spec_from_file_location("make_where", DOCS / "make_where.py")
    assert spec is not None and spec.loader is not None
    generator = module_from_spec(spec)
    spec.loader.exec_module(generator)
    page, results = text_of("where-it-helps.md"), text_of("results/where/page.md")
    assert page == generator.filled(page, results), "run `python docs/make_where.py`"
    assert generator.filled(page, results.replace("comparisons", "others")) != page
