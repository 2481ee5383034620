from pathlib import Path

import pytest

from tests.datasets.files.folder import Folder


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path)
