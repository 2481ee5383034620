"""`show`: what an artifact holds and where it came from, and why two differ."""

from pathlib import Path

from tests.front_door import FrontDoor


def test_show_tells_content_and_origin(cgnn: FrontDoor) -> None:
    made = cgnn.ok("commute", "--dataset", "demo", "--json").json
    shown = cgnn.ok("show", made["artifact"], "--json").json
    assert shown["header"]["config"]["rank"] == 5
    assert shown["elements"]["weight_out"].startswith("float64")
    provenance = shown["header"]["provenance"]
    assert provenance["command"].startswith("cgnn commute") and provenance["versions"]["scipy"]
    text = cgnn.ok("show", made["key"][:10]).out
    assert "cgnn-commute" in text and "payload sha256" in text


def test_show_of_many_features_names_the_first(cgnn: FrontDoor) -> None:
    titles = [f"word{place:04d}" for place in range(500)]
    Path("edges.csv").write_text("source,target\na,b\nb,a\n")
    Path("features.csv").write_text(f"node,{','.join(titles)}\na{',1' * 500}\nb{',0' * 500}\n")
    made = cgnn.ok("data", "import", "words", "--edges", "edges.csv", "--features", "features.csv", "-q").path
    shown = cgnn.ok("show", made).out
    assert "word0019" in shown and "word0020" not in shown and "480 more" in " ".join(shown.split())
    assert cgnn.ok("show", made, "--json").json["summary"]["feature_names"] == titles


def test_show_two_explains_why_their_keys_differ(cgnn: FrontDoor) -> None:
    a = cgnn.ok("commute", "--dataset", "demo", "--json").json["key"]
    b = cgnn.ok("commute", "--dataset", "demo", "--walk", "symmetric", "--rank", 7, "--json").json["key"]
    rows = cgnn.ok("show", a, b, "--json").json["summary"]["differences"]
    found = {(row["stage"], row["what"]): (row["first"], row["second"]) for row in rows}
    assert found["commute", "rank"] == (5, 7)
    assert found["rewire", "walk"] == ("directed", "symmetric")
    assert cgnn.ok("show", a, a, "--json").json["summary"] == {"same_key": True, "differences": []}
    rewired = cgnn.ok("rewire", "--dataset", "demo", "--json").json["key"]
    assert "rewire" in cgnn.ok("show", a, rewired).out


def test_show_of_something_that_is_not_there(cgnn: FrontDoor) -> None:
    cgnn.fails(4, "show", "nothing.h5")
    cgnn.fails(4, "show", "abcdef")
    cgnn.fails(4, "show", "../*")
