"""Invalid manifests: unknown versions, classes, attributes and values are rejected."""

import json

import numpy as np
import pytest

from reference.archives import assert_load_fails, forge, npy


def nested(depth):
    return "[" * depth + "]" * depth


@pytest.mark.usefixtures("carrier")
class TestTree:
    @pytest.mark.parametrize(
        ("parts", "message"),
        [
            ({"version": 2, "hinge": "9.1"}, r"newer hinge \(9.1.*upgrade hinge"),
            ({"version": 10**30}, "newer hinge"),
            ({"version": 0}, "missing or unknown"),
            ({"version": True}, "does not write"),
            ({"version": "1"}, "does not write"),
            ({"version": None}, "does not write"),
            ({"format": "other"}, "not marked"),
            ({"more": 1}, "missing or unknown"),
            ({"hinge": 3}, "does not write"),
            ({"class": "RandomForest"}, "load reads only.*upgrade"),
            ({"class": "os.system"}, "load reads only"),
            ({"class": "RBF"}, "load reads only"),
            ({"class": "__class__"}, "load reads only"),
            ({"class": ["SVC"]}, "does not write"),
            ({"parameters": []}, "does not write"),
            ({"parameters": {"unknown": 1}}, "no parameter 'unknown'.*upgrade"),
            ({"parameters": {"self": 1}}, "no parameter 'self'"),
            ({"state": 3}, "does not write"),
            ({"state": {"__class__": 1}}, "cannot be an attribute"),
            ({"state": {"__dict__": 1}}, "cannot be an attribute"),
            ({"state": {"get_params": 1}}, "cannot be an attribute"),
            ({"state": {"value": 1}}, "cannot be an attribute"),
            ({"state": {"not a name": 1}}, "cannot be an attribute"),
            ({"class": "SVC", "state": {"n_support_": 1}}, "cannot be an attribute"),
            ({"class": "SVC", "state": {"coef_": 1}}, "cannot be an attribute"),
            ({"class": "SVC", "state": {"classes_": 1}}, "are inconsistent"),
        ],
        ids=str,
    )
    def test_invalid_entries(self, path, parts, message):
        forge(path, **parts)
        assert_load_fails(path, message)

    @pytest.mark.parametrize(
        "text",
        [
            "",
            "[]",
            "null",
            "{",
            '{"format": "hinge model"}',
            '{"format": "hinge model", "format": "hinge model"}',
            '{"format": NaN}',
            '{"format": 1.5}',
            b"\xff\xfe\x00",
            nested(100_000),
            '{"a":' * 100_000,
            '{"version": ' + "9" * 5000 + "}",
        ],
        ids=range(12),
    )
    def test_invalid_texts(self, path, text):
        forge(path, manifest=text)
        assert_load_fails(path)

    @pytest.mark.parametrize(
        "node",
        [
            {},
            {"float": "0x1p0", "tuple": []},
            {"float": 1},
            {"float": "a lot"},
            {"float": "0x1p99999"},
            {"bytes": "xyz"},
            {"bytes": [1]},
            {"tuple": {}},
            {"dict": {"a": 1}},
            {"dict": [["a"]]},
            {"dict": [["a", 1], ["a", 2]]},
            {"dict": [[1, 1], [True, 2]]},
            {"dict": [[[], 2]]},
            {"dict": [[{"tuple": []}, 2]]},
            {"dict": [[{"array": 0}, 2]]},
            {"array": -1},
            {"array": True},
            {"array": "0"},
            {"array": "../0"},
            {"array": 10**30},
            {"array": None},
            {"objects": [[2], ["a"]]},
            {"objects": [[-1], ["a"]]},
            {"objects": [[1], [["a"]]]},
            {"objects": [[1], [{"record": ["Linear", {}]}]]},
            {"objects": [[True], ["a"]]},
            {"objects": [[2**64, 0], []]},
            {"objects": [[1] * 100, ["a"]]},
            {"objects": ["a"]},
            {"scalar": ["<f8", "00"]},
            {"scalar": ["|O", "00" * 8]},
            {"scalar": ["<U1", "00" * 4]},
            {"scalar": ["|b1", "07"]},
            {"scalar": ["|V8", "00" * 8]},
            {"scalar": ["<f8"]},
            {"scalar": [3, 4]},
            {"enum": ["Status", "MEDIOCRE"]},
            {"enum": ["Status", "__class__"]},
            {"enum": ["Signals", "SIGKILL"]},
            {"enum": ["Status", 0]},
            {"record": ["Popen", {"args": "touch launched"}]},
            {"record": ["FunctionKernel", {"function": "print"}]},
            {"record": ["RBF", {"gamma": -1}]},
            {"record": ["RBF", {"gamma": "wide"}]},
            {"record": ["RBF", {"gamma": [1]}]},
            {"record": ["RBF", {"gamma": True}]},
            {"record": ["RBF", {"delta": 1}]},
            {"record": ["RBF", []]},
            {"record": ["Sum", {}]},
            {"record": ["Sum", {"parts": {"tuple": [1, 2]}}]},
            {"record": ["Scaled", {"multiple": 1, "kernel": "rbf"}]},
            {"record": ["KernelModel", {"kernel": None, "vectors": None, "coefficients": 1, "intercept": 2}]},
            {"record": ["SMO", {"tol": "small"}]},
            {"csr": ["csr_matrix", [1, 1], 0, 0]},
            {"eval": "print(1)"},
            {"object": ["os.system", "ls"]},
        ],
        ids=str,
    )
    def test_invalid_nodes(self, path, node):
        forge(path, parameters={"value": node}, entries=[("0.npy", npy(np.zeros(1)))])
        assert_load_fails(path)

    def test_nesting_is_limited(self, path):
        kernel = {"record": ["Linear", {}]}
        for _ in range(150):
            kernel = {"record": ["Scaled", {"multiple": 1, "kernel": kernel}]}
        for node in (json.loads(nested(200)), kernel):
            forge(path, parameters={"value": node})
            assert_load_fails(path, "nested too deeply")

    @pytest.mark.parametrize(
        ("shape", "data", "indices", "indptr"),
        [
            ([2, 3], [1.0, 2.0], [0, 3], [0, 1, 2]),
            ([2, 3], [1.0, 2.0], [0, -1], [0, 1, 2]),
            ([2, 3], [1.0, 2.0], [0, 1], [0, 2, 1]),
            ([2, 3], [1.0, 2.0], [0, 1], [0, 5, 2]),
            ([2, 3], [1.0, 2.0], [0, 1], [0, -5, 2]),
            ([2, 3], [1.0, 2.0], [0, 1], [1, 1, 2]),
            ([2, 3], [1.0, 2.0], [0, 1], [0, 1, 3]),
            ([2, 3], [1.0, 2.0], [0, 1], [0, 2]),
            ([2, 3], [1.0, 2.0], [0, 1], []),
            ([2, 3], [1.0], [0, 1], [0, 1, 2]),
            ([2, 3], [1.0, 2.0], [0.0, 1.0], [0, 1, 2]),
            ([2, 3], [[1.0, 2.0]], [0, 1], [0, 1, 2]),
            ([2, 3], ["a", "b"], [0, 1], [0, 1, 2]),
            ([2**60, 3], [1.0, 2.0], [0, 1], [0, 1, 2]),
            ([2**70, 3], [1.0, 2.0], [0, 1], [0, 1, 2]),
            ([-1, 3], [], [], []),
            ([2, -3], [], [], [0, 0, 0]),
            ([2], [], [], [0, 0, 0]),
            ([2, 3, 4], [], [], [0, 0, 0]),
        ],
    )
    def test_invalid_sparse_matrices(self, path, shape, data, indices, indptr):
        integers = [
            np.array(part, dtype=np.int64 if not part or type(part[0]) is int else None)
            for part in (indices, indptr)
        ]
        pieces = [np.array(data, dtype=None if data else float), *integers]
        entries = [(f"{i}.npy", npy(piece)) for i, piece in enumerate(pieces)]
        forge(path, parameters={"value": {"csr": ["csr_matrix", shape, 0, 1, 2]}}, entries=entries)
        assert_load_fails(path, "sparse matrix|shape of an array|does not write")

    @pytest.mark.parametrize(
        "types", [(np.int32, np.int64), (np.int64, np.int32), (np.uint32,) * 2, (bool,) * 2]
    )
    def test_invalid_sparse_index_types(self, path, types):
        pieces = [np.ones(1), np.zeros(1, types[0]), np.array([0, 1], types[1])]
        entries = [(f"{i}.npy", npy(piece)) for i, piece in enumerate(pieces)]
        forge(path, parameters={"value": {"csr": ["csr_array", [1, 1], 0, 1, 2]}}, entries=entries)
        assert_load_fails(path, "indices of type")
