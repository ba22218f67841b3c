"""Ctrl-C within `listening`: kept, heard by those who ask, raised at the end, and twice is enough."""

import signal
import threading

import pytest

from hinge.control import attempt, heard, hearing, listening


def ctrl_c():
    signal.raise_signal(signal.SIGINT)


class Wanted(Exception):
    """What a handler of a user raises."""


@pytest.fixture(autouse=True)
def handler():
    """Python's own handler, and after the test it is there again."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    left = signal.signal(signal.SIGINT, before)
    assert left is signal.default_int_handler
    assert heard() is None


def test_nothing_comes_of_nothing():
    with listening():
        assert heard() is None
    assert attempt(lambda: 3) == 3


def test_a_signal_waits_for_the_end():
    done = []
    with pytest.raises(KeyboardInterrupt), listening():
        ctrl_c()
        assert isinstance(heard(), KeyboardInterrupt)
        done.append(1)
    assert done


def test_a_function_may_listen():
    @listening()
    def work(x):
        ctrl_c()
        done.append(x)

    done = []
    for _ in range(2):
        with pytest.raises(KeyboardInterrupt):
            work(5)
    assert done == [5, 5]


def test_it_is_raised_at_once_where_nothing_can_be_lost():
    done = []
    with pytest.raises(KeyboardInterrupt), listening():
        with pytest.raises(KeyboardInterrupt) as told, hearing():
            ctrl_c()
            done.append("never")
        assert told.value is heard()
        done.append("caught")
    assert done == ["caught"]


def test_one_that_came_before_is_raised_where_hearing_begins():
    done = []
    with pytest.raises(KeyboardInterrupt), listening():
        ctrl_c()
        assert attempt(hearing()(lambda: done.append("never"))) is None
        done.append("caught")
    assert done == ["caught"]


def test_what_is_not_a_signal_is_no_interruption():
    def fails():
        raise Wanted

    with pytest.raises(Wanted), listening():
        attempt(fails)


def test_the_second_is_raised_at_once():
    done = []
    with pytest.raises(KeyboardInterrupt), listening():
        ctrl_c()
        done.append("one")
        ctrl_c()
        done.append("never")
    assert done == ["one"]


def test_listening_within_listening():
    """The inner end raises too, and the outer one does not hold the next signal back."""
    done = []
    with pytest.raises(KeyboardInterrupt), listening():
        with pytest.raises(KeyboardInterrupt), listening():
            ctrl_c()
            done.append("inner")
        assert heard() is not None
        done.append("outer")
    assert done == ["inner", "outer"]


def test_a_solver_leaves_the_word_to_others():
    with pytest.raises(KeyboardInterrupt), listening():
        with listening(raises=False):
            ctrl_c()
        assert heard() is not None
    with listening(raises=False):
        ctrl_c()


def test_hearing_does_not_reach_into_what_listens_again():
    done = []
    with pytest.raises(KeyboardInterrupt), listening(), hearing():
        with listening(raises=False):
            ctrl_c()
            done.append("kept")
        assert heard() is not None
    assert done == ["kept"]


def test_an_error_does_not_swallow_it():
    with pytest.raises(KeyboardInterrupt) as told, listening():
        ctrl_c()
        raise Wanted
    assert isinstance(told.value.__context__, Wanted)


class TestHandlersOfOthers:
    def test_are_called_and_may_say_no(self):
        calls = []
        signal.signal(signal.SIGINT, lambda *_: calls.append(1))
        with listening():
            ctrl_c()
            ctrl_c()
            assert heard() is None
        assert calls == [1, 1]
        signal.signal(signal.SIGINT, signal.default_int_handler)

    def test_what_they_raise_is_kept(self):
        def raising(*_):
            raise Wanted

        signal.signal(signal.SIGINT, raising)
        with pytest.raises(Wanted), listening():
            ctrl_c()
            assert isinstance(heard(), Wanted)
        assert signal.signal(signal.SIGINT, signal.default_int_handler) is raising

    def test_are_not_replaced_where_nobody_is_to_hear(self):
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        with listening():
            assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
            ctrl_c()
            assert heard() is None
        signal.signal(signal.SIGINT, signal.default_int_handler)

    def test_one_that_is_put_in_place_meanwhile_stays(self):
        def later(*_):
            raise Wanted

        with listening():
            signal.signal(signal.SIGINT, later)
            with pytest.raises(Wanted), listening():
                ctrl_c()
        assert signal.signal(signal.SIGINT, signal.default_int_handler) is later


def test_other_threads_neither_listen_nor_hear():
    found = {}

    def work():
        with listening(), hearing():
            found["handler"] = signal.getsignal(signal.SIGINT)
            found["heard"] = heard()

    with pytest.raises(KeyboardInterrupt), listening():
        ctrl_c()
        inside = signal.getsignal(signal.SIGINT)
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    assert found == {"handler": inside, "heard": None}
