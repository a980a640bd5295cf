"""Caches of the tests lie in a temporary folder, so that a test never sees the user's."""

import pytest


@pytest.fixture(scope="session", autouse=True)
def _own_cache(tmp_path_factory):
    import os

    before = os.environ.get("FIRSTFAULT_CACHE")
    if before is None:
        os.environ["FIRSTFAULT_CACHE"] = str(tmp_path_factory.mktemp("cache"))
    yield
    if before is None:
        os.environ.pop("FIRSTFAULT_CACHE", None)
