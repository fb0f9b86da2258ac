"""Plain functions in several processes: work goes out item by item, results come back as made.

A process that dies is an error that names its item, never a gap in the results.
"""

import multiprocessing
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from typing import Generic, TypeVar

from agspec_tui.errors import AgspecError, EngineError

Item = TypeVar("Item")
Result = TypeVar("Result")


def map_unordered(
    work: Callable[[Item], Result], items: Sequence[Item], n_processes: int
) -> Iterator[tuple[int, Result]]:
    """Results of `work` with the places of their items, in the order in which they are ready.

    Items are begun in their order: the largest first keeps every process busy to the end. With one
    process nothing is started and the caller does the work.

    Args:
        work: a function of a module, or a partial of one; it and its results must be picklable.
        items: what it is called with.
        n_processes: most processes.

    Raises:
        AgspecError: `work` raised it, or a process ended without a result.
    """
    n_processes = min(n_processes, len(items))
    if n_processes <= 1:
        for place, item in enumerate(items):
            yield place, work(item)
        return
    with ExitStack() as stack:
        workers = [_Worker(work) for _ in range(n_processes)]
        for worker in workers:
            stack.callback(worker.stop)
        waiting = iter(enumerate(items))
        busy = {worker.connection: worker for worker in workers if worker.give(waiting)}
        while busy:
            for ready in wait(list(busy)):
                worker = busy[ready]  # type: ignore[index]
                yield worker.take()
                if not worker.give(waiting):
                    del busy[worker.connection]


class _Worker(Generic[Item, Result]):
    """A process and the item it works on."""

    def __init__(self, work: Callable[[Item], Result]) -> None:
        context = multiprocessing.get_context("spawn")
        self.connection, theirs = context.Pipe()
        self._place = -1
        self._process: SpawnProcess = context.Process(
            target=_serve, args=(theirs, work), daemon=True
        )
        # The terminal's Ctrl-C is the parent's to handle: the child starts, and stays, deaf to it.
        # The tracker is started first, since starting it unblocks the signal.
        resource_tracker.ensure_running()
        heard = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        self._process.start()
        signal.pthread_sigmask(signal.SIG_SETMASK, heard)
        theirs.close()

    def give(self, waiting: Iterator[tuple[int, Item]]) -> bool:
        """Send the next item; False if there is none."""
        for self._place, item in waiting:
            try:
                self.connection.send(item)
            except (BrokenPipeError, ConnectionResetError):
                self._fail()
            return True
        return False

    def take(self) -> tuple[int, Result]:
        """The result of its item."""
        try:
            result = self.connection.recv()
        except (EOFError, ConnectionResetError):
            self._fail()
        if isinstance(result, AgspecError):
            raise result
        return self._place, result

    def _fail(self) -> None:
        self._process.join(5.0)
        raise EngineError(
            f"a process of the replay ended with code {self._process.exitcode} at session"
            f" {self._place + 1}",
            "was there too little memory? try --workers 1",
        )

    def stop(self) -> None:
        """End it; there is nothing in it to be kept."""
        self._process.terminate()
        self._process.join()
        self.connection.close()


def _serve(connection: Connection, work: Callable[[Item], Result]) -> None:
    """Work until the other end is closed."""
    while True:
        try:
            item: Item = connection.recv()
        except EOFError:
            return
        try:
            connection.send(work(item))
        except AgspecError as error:
            connection.send(error)
