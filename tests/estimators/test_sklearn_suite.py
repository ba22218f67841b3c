"""scikit-learn's own tests of its SVMs pass with ours; see `sklearn_suite.py` for the command and the
exceptions."""

from estimators import sklearn_suite


def test_scikit_learns_tests_pass_with_hinge():
    outcome = sklearn_suite.run(["--tb=short"], capture_output=True, text=True, timeout=600)
    assert outcome.returncode == 0, outcome.stdout[-8000:] + outcome.stderr[-2000:]


def test_the_list_of_exceptions_is_short_and_explained():
    assert len(sklearn_suite.EXCEPTIONS) <= 22
    assert all(len(reason) > 20 for reason in sklearn_suite.EXCEPTIONS.values())
