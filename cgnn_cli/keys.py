"""Keys: what identifies an artifact, whatever machine or path it lies on."""

import hashlib
import json
import re
from collections.abc import Mapping
from typing import Any

KEY_LENGTH = 32
KEY_VERSION = 1
KEY = rf"[0-9a-f]{{{KEY_LENGTH}}}"


def is_key(name: str) -> bool:
    """Whether a name has the form of a key; no other file of a store is ever taken for an artifact."""
    return re.fullmatch(KEY, name) is not None


def canonical_json(value: Any) -> str:
    """JSON with sorted keys and no spaces; anything that is not plain JSON is refused."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def artifact_key(stage: str, algorithm: int, config: Mapping[str, Any], inputs: Mapping[str, str]) -> str:
    """sha256 over the stage, the version of its algorithm, its configuration and the keys of its inputs."""
    content = {
        "key-version": KEY_VERSION,
        "stage": stage,
        "algorithm": algorithm,
        "config": dict(config),
        "inputs": dict(inputs),
    }
    return hashlib.sha256(canonical_json(content).encode()).hexdigest()[:KEY_LENGTH]
