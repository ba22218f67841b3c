"""Defects of the readers of data files that were observed in earlier versions."""

import bz2
import gzip
import json
import os
import subprocess
import sys
import textwrap
import time

import numpy as np
import pytest

from hinge.io import dump_libsvm, iter_libsvm, load_libsvm, map_libsvm
from hinge.io import libsvm as module


def text_of(n, value=1.5):
    return b"".join(b"%d 1:%r 3:%d\n" % (1 - 2 * (i % 2), value, i + 1) for i in range(n))


def run(code, **options):
    """Run code in a process of its own, which a signal may end."""
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, timeout=120, **options
    )


class TestMapping:
    @pytest.fixture
    def source(self, tmp_path):
        path = tmp_path / "data.txt"
        path.write_bytes(text_of(5000))
        return path

    def test_a_later_conversion_does_not_change_mapped_arrays(self, source, tmp_path):
        X, _ = map_libsvm(source, tmp_path / "map")
        before = X.toarray()
        for replacement in (text_of(5000, 2.5), text_of(3)):
            source.write_bytes(replacement)
            os.utime(source, ns=(1, 1))
            Z, _ = map_libsvm(source, tmp_path / "map")
            assert Z.shape[0] == replacement.count(b"\n")
            np.testing.assert_array_equal(X.toarray(), before)
        assert len(list((tmp_path / "map").glob("arrays-*"))) == 1

    def test_files_of_the_same_name_size_and_time_are_distinguished(self, tmp_path):
        for folder, value in (("a", 1.5), ("b", 2.5)):
            (tmp_path / folder).mkdir()
            (tmp_path / folder / "data.txt").write_bytes(text_of(20, value))
            os.utime(tmp_path / folder / "data.txt", ns=(10**18, 10**18))
            X, _ = map_libsvm(tmp_path / folder / "data.txt", tmp_path / "map")
            assert X[0, 0] == value

    def test_a_change_with_the_same_size_and_time_is_noticed(self, source, tmp_path):
        map_libsvm(source, tmp_path / "map")
        status = os.stat(source)
        source.write_bytes(text_of(5000, 2.5))
        os.utime(source, ns=(status.st_atime_ns, status.st_mtime_ns))
        assert map_libsvm(source, tmp_path / "map")[0][0, 0] == 2.5

    @pytest.mark.parametrize(
        "damage", [b"", b"{", b"[]", b"null", b"{}", b'{"source": 3}', b"\xff\xfe", b'{"shape": [1, 2]}', None]
    )
    def test_a_damaged_description_is_replaced(self, source, tmp_path, damage):
        expected = map_libsvm(source, tmp_path / "map")[0].toarray()
        description = tmp_path / "map" / "map.json"
        whole = description.read_bytes()
        description.write_bytes(whole[: len(whole) // 2] if damage is None else damage)
        np.testing.assert_array_equal(map_libsvm(source, tmp_path / "map")[0].toarray(), expected)
        assert json.loads(description.read_bytes())["shape"][0] == 5000

    @pytest.mark.parametrize("key", ["version", "source", "shape", "arrays"])
    @pytest.mark.parametrize("value", [None, 7, "x", [], [1, 2], [-5, 3, 10000], {}, "../map"])
    def test_a_changed_description_is_replaced(self, source, tmp_path, key, value):
        expected = map_libsvm(source, tmp_path / "map")[0].toarray()
        description = tmp_path / "map" / "map.json"
        description.write_text(json.dumps(json.loads(description.read_bytes()) | {key: value}))
        np.testing.assert_array_equal(map_libsvm(source, tmp_path / "map")[0].toarray(), expected)

    @pytest.mark.parametrize("name", ["values", "indices", "starts", "labels"])
    def test_damaged_arrays_are_replaced(self, source, tmp_path, name):
        expected = map_libsvm(source, tmp_path / "map")[0].toarray()
        for change in (lambda file: os.truncate(file, 200), os.unlink, lambda file: os.truncate(file, 0)):
            (file,) = (tmp_path / "map").glob(f"*/{name}.npy")
            change(file)
            X, y = map_libsvm(source, tmp_path / "map")
            np.testing.assert_array_equal(X.toarray(), expected)
            assert len(y) == 5000

    def test_a_killed_conversion_leaves_nothing(self, source, tmp_path):
        """Kill the conversion at random times; the next one succeeds and removes what is left over."""
        expected = load_libsvm(source, dtype=np.float32)[0].toarray()
        rng = np.random.default_rng(0)
        for _ in range(5):
            process = subprocess.Popen(
                [sys.executable, "-c", "import sys; from hinge.io import map_libsvm\n"
                 "print(flush=True)\nwhile True: map_libsvm(sys.argv[1], sys.argv[2], n_features=int(sys.argv[3]))\n",
                 str(source), str(tmp_path / "map"), str(rng.integers(5001, 9000))], stdout=subprocess.PIPE
            )  # fmt: skip
            process.stdout.readline()
            time.sleep(0.02 * rng.random())
            process.kill()
            process.wait()
            process.stdout.close()
            X, _ = map_libsvm(source, tmp_path / "map")
            np.testing.assert_array_equal(X.toarray(), expected)
            assert sorted(entry.name[:7] for entry in (tmp_path / "map").iterdir()) == [".lock", "arrays-", "map.jso"]

    def test_a_file_that_changes_during_the_conversion_is_an_error(self, source, tmp_path, monkeypatch):
        read = module.read_blocks

        def changing(*arguments):
            yield from read(*arguments)
            source.write_bytes(text_of(5))

        monkeypatch.setattr("hinge.io.mapped.read_blocks", changing)
        with pytest.raises(ValueError, match="changed while it was read"):
            map_libsvm(source, tmp_path / "map")
        assert [entry.name for entry in (tmp_path / "map").iterdir()] == [".lock"]


class TestReading:
    def test_a_file_that_shrinks_is_read_or_refused(self, tmp_path):
        """A memory map of the file would end the process with SIGBUS."""
        path = tmp_path / "data.txt"
        done = run(
            f"""
            import os, threading
            from hinge.io import load_libsvm
            path = {str(path)!r}
            line = b"1 " + b" ".join(b"%d:1.5" % i for i in range(1, 200)) + b"\\n"
            stop = threading.Event()
            def shrink():
                while not stop.is_set():
                    os.truncate(path, 100 * len(line))
            outcomes = set()
            for _ in range(5):
                with open(path, "wb") as file:
                    file.write(line * 20000)
                stop.clear()
                thread = threading.Thread(target=shrink)
                timer = threading.Timer(0.01, thread.start)
                timer.start()
                try:
                    load_libsvm(path)
                    outcomes.add("read")
                except ValueError:
                    outcomes.add("refused")
                timer.join(); stop.set(); thread.join()
            print(outcomes <= {{"read", "refused"}})
            """
        )
        assert done.returncode == 0, done.stderr
        assert done.stdout == "True\n"

    def test_the_time_for_a_long_line_is_linear(self, tmp_path, monkeypatch):
        monkeypatch.setattr(module, "READ_BYTES", 1000)
        pieces = []

        class Counting(bytes):
            def __add__(self, other):
                pieces.append(len(self))
                return Counting(bytes(self) + bytes(other))

        class File:
            def __init__(self, n):
                self.blocks = [Counting(b"x" * 1000)] * n

            def read(self, size):
                return self.blocks.pop() if self.blocks else b""

        (line,) = module._line_blocks(File(500), 1000)
        assert len(line) == 500_000
        assert sum(pieces) <= 2 * len(line)

    @pytest.mark.parametrize("sign", ["", "-", "+"])
    @pytest.mark.parametrize("locale", ["C", "de_DE.UTF-8"])
    def test_numbers_do_not_depend_on_the_locale(self, tmp_path, sign, locale):
        path = tmp_path / "data.txt"
        words = [".5e-400", "1.5e-400", "0.0001e-330", "2.5e-323", "4.9e-324", "1.5", "1e-99999999999999999999"]
        path.write_text("".join(f"1 1:{sign}{word}\n" for word in words))
        large = tmp_path / "large.txt"
        large.write_text(f"1 1:{sign}1.5e400\n")
        done = run(
            f"""
            import locale
            try:
                locale.setlocale(locale.LC_ALL, {locale!r})
            except locale.Error:
                print("no such locale"); raise SystemExit
            from hinge.io import load_libsvm
            print(*[float(x).hex() for x in load_libsvm({str(path)!r})[0].data])
            try:
                load_libsvm({str(large)!r})
            except ValueError as error:
                print("not a finite number" in str(error))
            """
        )
        assert done.returncode == 0, done.stderr
        if "no such locale" in done.stdout:
            pytest.skip(f"{locale} is not installed")
        numbers, large = done.stdout.splitlines()
        assert numbers.split() == [float(sign + word).hex() for word in words]
        assert large == "True"

    @pytest.mark.parametrize("word", ["1e308", "1.7976931348623159e308", "9" * 400, "0." + "0" * 400 + "1", "1e400",
                                      "000000e5", "0.000e999999999999999999", "1" + "0" * 400 + "e-400"])  # fmt: skip
    def test_extreme_numbers_are_those_of_python(self, tmp_path, word):
        path = tmp_path / "data.txt"
        path.write_text(f"1 1:{word}\n")
        if np.isfinite(float(word)):
            assert load_libsvm(path)[0].toarray()[0, 0] == float(word)
        else:
            with pytest.raises(ValueError, match="not a finite number"):
                load_libsvm(path)

    @pytest.mark.parametrize("pack", [lambda text: text, gzip.compress, bz2.compress], ids=["plain", "gz", "bz2"])
    @pytest.mark.parametrize("first", [True, False])
    def test_mixed_queries_are_refused_in_every_kind_of_file(self, tmp_path, monkeypatch, pack, first):
        """Also if the lines with and without a qid are in different blocks."""
        monkeypatch.setattr(module, "READ_BYTES", 100)
        monkeypatch.setattr(module, "WHOLE_BYTES", 100)
        with_query, without = b"1 qid:3 1:2\n" * 20, b"1 1:2\n" * 40
        ending = {"plain": "txt"}.get(pack.__name__, "gz" if pack is gzip.compress else "bz2")
        path = tmp_path / f"data.{ending if pack in (gzip.compress, bz2.compress) else 'txt'}"
        path.write_bytes(pack(with_query + without if first else without + with_query))
        for read in (lambda: load_libsvm(path, query_id=True), lambda: load_libsvm(path),
                     lambda: list(iter_libsvm(path, n_features=5)),
                     lambda: map_libsvm(path, tmp_path / "map")):  # fmt: skip
            with pytest.raises(ValueError, match="qid"):
                read()

    def test_dump_rejects_what_it_cannot_write(self, tmp_path):
        path = tmp_path / "data.txt"
        for X in (np.full((2, 2), np.nan), np.zeros(3), [["a", "b"], ["c", "d"]], [[10**400], [1]]):
            with pytest.raises(ValueError, match="X"):
                dump_libsvm(X, [1, 2], path)
        assert not path.exists()
