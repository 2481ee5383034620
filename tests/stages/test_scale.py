"""Full-batch training of the large graphs from cold, within the memory that is promised."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import MakeStandIn

pytestmark = [pytest.mark.realdata, pytest.mark.slow]
GIB = 1 << 30
LAUNCHER = (
    "import json, resource, subprocess, sys\n"
    "done = subprocess.run(sys.argv[1:], stdout=subprocess.PIPE, text=True)\n"
    "peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss\n"
    "print(json.dumps([done.returncode, peak * (1 if sys.platform == 'darwin' else 1024), done.stdout]))\n"
)


@pytest.mark.timeout(7200)
@pytest.mark.parametrize(
    ("name", "dataset", "options", "limit"),
    [
        ("arxiv", "arxiv-year", ("--layers", "2", "--hidden", "64"), 6 * GIB),
        ("snap-patents", "snap-patents", ("--layers", "2", "--hidden", "32", "--weight-decay", "0"), 20 * GIB),
    ],
)
def test_the_paper_s_preset_trains_within_its_memory(
    stand_in: MakeStandIn, tmp_path: Path, name: str, dataset: str, options: tuple[str, ...], limit: int
) -> None:
    files = stand_in(name)
    mirror = next(iter(files.values())).parent.parent
    command = [sys.executable, "-m", "cgnn_cli", "train", "--dataset", dataset, "--mirror", str(mirror)]
    command += ["--data", str(tmp_path / "data"), "--accept-standin", "--store", str(tmp_path / "store"), "--json"]
    command += ["--solver", "series", "--epochs", "2", "--split", "0", "--quiet", *options]
    ran = subprocess.run([sys.executable, "-c", LAUNCHER, *command], check=True, capture_output=True, text=True)
    code, peak, output = json.loads(ran.stdout)
    assert code == 0, ran.stderr
    assert peak < limit
    assert json.loads(output)["summary"]["epochs"] == [2]
