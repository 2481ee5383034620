"""Charts of the experiments say what they leave out."""

from cgnn_cli.paper.charts import Curve, draw_shares


def test_what_is_not_drawn_is_said() -> None:
    curves = [Curve(f"d{number}", [(0.0, 1.0, 0.0)]) for number in range(9)]
    shares = draw_shares("x", "title", "Shares", curves, "ratio")
    assert shares is not None and shares.caption == "Shares; the first 7 of 9"
