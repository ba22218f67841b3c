"""Every public function and method that takes data rejects damaged data with a ValueError or TypeError.

The functions are found by the names of their parameters (`contracts.public_data`), so that a new one is tested, too.
"""

import os
import subprocess
import sys
import textwrap
from pathlib import Path

from contracts.public_data import calls

TESTS = Path(__file__).parents[1]


def test_every_function_is_called():
    names = [call.name for call in calls()]
    assert len(names) == len(set(names)) > 300
    for name in ("SVC.fit", "paths.regularization_path", "selection.pairwise_grid", "kernels.RBF.__call__",
                 "paths.SolutionPath.best", "io.dump_libsvm", "inspection.shapley_values"):  # fmt: skip
        assert name in names
    assert all(call.data for call in calls())


def test_damaged_data_are_rejected(tmp_path):
    """In a process of its own, which damaged data could end."""
    code = """
        import faulthandler, sys, warnings
        faulthandler.enable()
        warnings.simplefilter("ignore")
        import numpy as np
        from contracts.public_data import calls
        np.seterr(all="ignore")
        for call in calls():
            function, valid = call.prepare()
            try:
                function(**valid)
            except Exception as error:
                print("INVALID:", call.name, repr(error), flush=True)
                continue
            for argument in call.data:
                for what, damaged in call.damaged(argument):
                    print(call.name, argument, what, file=sys.stderr, flush=True)
                    try:
                        function(**{**valid, argument: damaged})
                    except (ValueError, TypeError):
                        continue
                    except Exception as error:
                        print("UNDOCUMENTED:", call.name, argument, what, repr(error), flush=True)
                    else:
                        print("ACCEPTED:", call.name, argument, what, flush=True)
    """
    command = [sys.executable, "-c", textwrap.dedent(code)]
    environment = {**os.environ, "PYTHONPATH": str(TESTS)}
    run = subprocess.run(command, capture_output=True, text=True, timeout=250, cwd=tmp_path, env=environment)
    assert run.returncode == 0, run.stderr[-3000:]
    assert run.stdout == ""
