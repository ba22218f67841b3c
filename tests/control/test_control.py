"""RunControl: deadlines and callbacks of parts of a run, and Ctrl-C while signals are captured."""

import signal
import threading

import pytest

from hinge.control import RunControl


def ctrl_c():
    signal.raise_signal(signal.SIGINT)


class Custom(Exception):
    """Raised by the signal handler of a user."""


@pytest.fixture(autouse=True)
def default_handler():
    """Install Python's own handler, and check that it is installed again after the test."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    left = signal.signal(signal.SIGINT, before)
    assert left is signal.default_int_handler


# ---- deadlines and callbacks -------------------------------------------------------------------------------------


def test_without_a_limit_there_is_no_deadline():
    control = RunControl()
    assert control.deadline is None
    assert control.remaining() is None
    assert not control.expired()
    assert control.limited_to(None) is control


def test_the_deadline_of_a_part_is_not_later_than_that_of_the_run():
    control = RunControl(max_time=10.0)
    assert 9.0 < control.remaining() <= 10.0
    assert control.limited_to(20.0).deadline == control.deadline
    assert control.limited_to(1.0).remaining() <= 1.0
    assert control.limited_to(0.0).expired()
    assert control.limited_to(0.0).remaining() == 0.0


@pytest.mark.parametrize(("answer", "continues"), [(None, True), (True, True), (0, True), (False, False)])
def test_only_false_stops_the_run(answer, continues):
    assert RunControl(callback=lambda snapshot: answer).report({}) is continues


def test_parts_share_the_callback_unless_they_have_their_own():
    seen, own = [], []
    control = RunControl(max_time=10.0, callback=seen.append)
    control.limited_to(1.0).report({"iteration": 1})
    control.without_callback().report({"iteration": 2})
    control.with_callback(own.append).report({"iteration": 3})
    assert seen == [{"iteration": 1}]
    assert own == [{"iteration": 3}]
    assert control.without_callback().deadline == control.deadline


# ---- captured signals --------------------------------------------------------------------------------------------


def test_without_a_signal_nothing_is_raised():
    control = RunControl()
    with control.capture_signals():
        assert control.interrupt is None
    assert control.interruptible_call(lambda: 3) == 3
    assert control.unless_interrupted(lambda: 3) == 3


def test_a_signal_is_raised_at_the_end_of_the_capture():
    done, control = [], RunControl()
    with pytest.raises(KeyboardInterrupt), control.capture_signals():
        ctrl_c()
        assert isinstance(control.interrupt, KeyboardInterrupt)
        done.append(1)
    assert done


def test_parts_of_a_run_share_the_interrupt():
    control = RunControl(max_time=10.0, callback=print)
    parts = [control.limited_to(1.0), control.without_callback(), control.with_callback(len)]
    with control.capture_signals(raises=False):
        ctrl_c()
    assert all(part.interrupt is control.interrupt is not None for part in parts)


def test_signals_can_be_captured_repeatedly():
    done = []
    for _ in range(2):
        with pytest.raises(KeyboardInterrupt), RunControl().capture_signals():
            ctrl_c()
            done.append(5)
    assert done == [5, 5]


def test_a_signal_is_raised_at_once_in_an_interruptible_section():
    done, control = [], RunControl()
    with pytest.raises(KeyboardInterrupt), control.capture_signals():
        with pytest.raises(KeyboardInterrupt) as raised, control.interruptible():
            ctrl_c()
            done.append("never")
        assert raised.value is control.interrupt
        done.append("caught")
    assert done == ["caught"]


def test_an_earlier_signal_is_raised_at_the_start_of_an_interruptible_section():
    done, control = [], RunControl()
    with pytest.raises(KeyboardInterrupt), control.capture_signals():
        ctrl_c()
        assert control.interruptible_call(lambda: done.append("never")) is None
        done.append("caught")
    assert done == ["caught"]


@pytest.mark.parametrize("call", ["interruptible_call", "unless_interrupted"])
def test_other_exceptions_are_not_interrupts(call):
    def fails():
        raise Custom

    control = RunControl()
    with pytest.raises(Custom), control.capture_signals():
        getattr(control, call)(fails)
    assert not control.is_interrupt(Custom())
    assert control.is_interrupt(KeyboardInterrupt())


def test_the_second_signal_is_raised_at_once():
    done = []
    with pytest.raises(KeyboardInterrupt), RunControl().capture_signals():
        ctrl_c()
        done.append("one")
        ctrl_c()
        done.append("never")
    assert done == ["one"]


@pytest.mark.parametrize("same", [True, False])
def test_captures_may_be_nested(same):
    """The inner capture raises too. A new control within a capture shares the interrupt of the enclosing control."""
    done, control = [], RunControl()
    with pytest.raises(KeyboardInterrupt), control.capture_signals():
        inner = control if same else RunControl()
        with pytest.raises(KeyboardInterrupt), inner.capture_signals():
            ctrl_c()
            assert inner.interrupt is control.interrupt is not None
            done.append("inner")
        assert control.interrupt is not None
        done.append("outer")
    assert done == ["inner", "outer"]


def test_a_control_made_within_a_capture_sees_its_interrupt():
    control = RunControl()
    with control.capture_signals(raises=False):
        inner = RunControl()
        ctrl_c()
        assert inner.interrupt is control.interrupt
        assert inner.interruptible_call(lambda: "never") is None


@pytest.mark.parametrize("same", [True, False])
def test_a_solver_may_leave_the_exception_to_its_caller(same):
    control = RunControl()
    with pytest.raises(KeyboardInterrupt), control.capture_signals():
        inner = control if same else RunControl()
        with inner.capture_signals(raises=False):
            ctrl_c()
        assert control.interrupt is not None
    with RunControl().capture_signals(raises=False):
        ctrl_c()


def test_an_interruptible_section_does_not_include_a_nested_capture():
    done, control = [], RunControl()
    with pytest.raises(KeyboardInterrupt), control.capture_signals(), control.interruptible():
        with control.capture_signals(raises=False):
            ctrl_c()
            done.append("stored")
        assert control.interrupt is not None
    assert done == ["stored"]


def test_an_error_does_not_hide_the_signal():
    with pytest.raises(KeyboardInterrupt) as raised, RunControl().capture_signals():
        ctrl_c()
        raise Custom
    assert isinstance(raised.value.__context__, Custom)


class TestUserHandlers:
    def test_user_handler_is_called_and_need_not_raise(self):
        calls, control = [], RunControl()
        signal.signal(signal.SIGINT, lambda *_: calls.append(1))
        with control.capture_signals():
            ctrl_c()
            ctrl_c()
            assert control.interrupt is None
        assert calls == [1, 1]
        signal.signal(signal.SIGINT, signal.default_int_handler)

    def test_exception_of_a_user_handler_is_stored(self):
        def raising(*_):
            raise Custom

        control = RunControl()
        signal.signal(signal.SIGINT, raising)
        with pytest.raises(Custom), control.capture_signals():
            ctrl_c()
            assert isinstance(control.interrupt, Custom)
        assert signal.signal(signal.SIGINT, signal.default_int_handler) is raising

    def test_ignored_signals_stay_ignored(self):
        control = RunControl()
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        with control.capture_signals():
            assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
            ctrl_c()
            assert control.interrupt is None
        signal.signal(signal.SIGINT, signal.default_int_handler)

    def test_a_handler_installed_within_a_capture_is_kept(self):
        def later(*_):
            raise Custom

        control = RunControl()
        with control.capture_signals():
            signal.signal(signal.SIGINT, later)
            with pytest.raises(Custom), RunControl().capture_signals():
                ctrl_c()
        assert signal.signal(signal.SIGINT, signal.default_int_handler) is later


def test_other_threads_neither_capture_signals_nor_see_the_interrupt_of_other_runs():
    found = {}

    def work():
        own = RunControl()
        with own.capture_signals(), own.interruptible():
            found["handler"] = signal.getsignal(signal.SIGINT)
            found["interrupt"] = own.interrupt

    control = RunControl()
    with pytest.raises(KeyboardInterrupt), control.capture_signals():
        ctrl_c()
        inside = signal.getsignal(signal.SIGINT)
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    assert found == {"handler": inside, "interrupt": None}


def test_other_threads_of_a_run_see_its_interrupt():
    found, control = [], RunControl()

    def work():
        found.append(control.interrupt)
        found.append(control.interruptible_call(lambda: "never"))

    with control.capture_signals(raises=False):
        ctrl_c()
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    assert found == [control.interrupt, None]
