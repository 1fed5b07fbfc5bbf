from __future__ import annotations

import threading
import time

from recall_integrations.resilience.admission import Places
from recall_integrations.resilience.deadline import Deadline


def _wait_until(condition: object) -> None:
    end = time.monotonic() + 30
    while not condition():  # type: ignore[operator]
        assert time.monotonic() < end
        time.sleep(0.001)


def test_places_are_given_in_the_order_in_which_they_were_asked_for() -> None:
    places = Places(1)
    assert places.acquire(Deadline.after(None))
    served: list[int] = []

    def ask(number: int) -> None:
        assert places.acquire(Deadline.after(None))
        served.append(number)
        places.release()

    crew = []
    for number in range(6):
        crew.append(threading.Thread(target=ask, args=(number,), daemon=True))
        crew[-1].start()
        _wait_until(lambda: len(places._waiting) == len(crew))
    places.release()
    for thread in crew:
        thread.join(30)
    assert served == list(range(6))


def test_who_has_just_left_does_not_come_before_those_who_wait() -> None:
    places = Places(1)
    assert places.acquire(Deadline.after(None))
    waiting = threading.Thread(target=places.acquire, args=(Deadline.after(None),), daemon=True)
    waiting.start()
    _wait_until(lambda: places._waiting)
    places.release()
    assert not places.acquire(Deadline.after(0))
    waiting.join(30)
    assert not waiting.is_alive()


def test_without_a_place_in_time_there_is_none_and_none_is_lost() -> None:
    places = Places(1)
    assert places.acquire(Deadline.after(None))
    assert not places.acquire(Deadline.after(1))
    places.release()
    assert places.acquire(Deadline.after(None))
    assert not places.acquire(Deadline.after(0))


def test_one_that_is_cancelled_leaves() -> None:
    places, deadline, got = Places(1), Deadline.after(None), []
    assert places.acquire(Deadline.after(None))
    thread = threading.Thread(target=lambda: got.append(places.acquire(deadline)), daemon=True)
    thread.start()
    _wait_until(lambda: places._waiting)
    deadline.cancel()
    thread.join(30)
    assert got == [False]
    places.release()
    assert places.acquire(Deadline.after(None))


def test_no_more_than_there_are_hold_one_whatever_the_order() -> None:
    places, inside, most, lock = Places(3), [0], [0], threading.Lock()

    def work() -> None:
        for i in range(200):
            if places.acquire(Deadline.after(None if i % 3 else 1)):
                with lock:
                    inside[0] += 1
                    most[0] = max(most[0], inside[0])
                with lock:
                    inside[0] -= 1
                places.release()

    crew = [threading.Thread(target=work, daemon=True) for _ in range(8)]
    for thread in crew:
        thread.start()
    for thread in crew:
        thread.join(60)
    assert 1 <= most[0] <= 3
    assert sum(places.acquire(Deadline.after(0)) for _ in range(5)) == 3
