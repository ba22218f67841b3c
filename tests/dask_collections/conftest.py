"""A Dask cluster of two worker processes for the tests of one file."""

import pytest

pytest.importorskip("distributed", reason="hinge.dask needs the packages dask and distributed")


@pytest.fixture(scope="module")
def cluster():
    """A cluster on this machine. Its processes end with this process, also if a test fails or is killed."""
    from distributed import LocalCluster

    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None, silence_logs=50) as started:
        yield started


@pytest.fixture(scope="module")
def client(cluster):
    from distributed import Client

    with Client(cluster) as connected:
        yield connected
