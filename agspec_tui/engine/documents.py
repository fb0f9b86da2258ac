"""The files that the engine's workspace corpus is to hold, whichever engine it is."""

import asyncio
from collections import deque
from collections.abc import Iterator

from agspec_tui.commands import IndexDocument
from agspec_tui.engine_events import DocumentIndexed

_MOST_DEATHS = 2
"""Engines that may die in a row over the same file."""

Waiter = asyncio.Future[DocumentIndexed]


class Documents:
    """Files that were sent, and who waits for which of them."""

    def __init__(self) -> None:
        self._kept: dict[str, IndexDocument] = {}
        # Answers to one path come in the order of its commands. What is sent again after a restart
        # answers everybody who waited, or nobody: then it is no news.
        self._sent: dict[str, deque[list[Waiter]]] = {}
        self._n_deaths: dict[str, int] = {}

    @property
    def n_waiting(self) -> int:
        """Answers that the engine owes."""
        return sum(len(sent) for sent in self._sent.values())

    def put(self, command: IndexDocument) -> Waiter:
        """A file is sent; returns what its answer resolves."""
        waiter: Waiter = asyncio.get_running_loop().create_future()
        self._kept[command.path] = command
        self._sent.setdefault(command.path, deque()).append([waiter])
        return waiter

    def forget(self, path: str) -> None:
        """A file is taken out again."""
        self._kept.pop(path, None)

    def clear(self) -> None:
        """All are taken out."""
        self._kept.clear()

    def answered(self, event: DocumentIndexed) -> bool:
        """An answer came; returns whether it is news."""
        self._n_deaths.pop(event.path, None)
        sent = self._sent.get(event.path)
        if not sent:
            return True
        waiters = sent.popleft()
        if not sent:
            del self._sent[event.path]
        for waiter in waiters:
            if not waiter.done():
                waiter.set_result(event)
        return bool(waiters)

    def died(self) -> list[DocumentIndexed]:
        """The engine died.

        Returns:
            Answers to those whose file the next engine is not given: it was taken out since, or
            engines die over it.
        """
        first = next(iter(self._sent), None)
        if first is not None:
            self._n_deaths[first] = self._n_deaths.get(first, 0) + 1
            if self._n_deaths[first] >= _MOST_DEATHS:
                self._kept.pop(first, None)
        answers = []
        for path, sent in self._sent.items():
            waiters = [waiter for waiting in sent for waiter in waiting]
            self._sent[path] = deque([waiters])
            if path not in self._kept and waiters:
                deadly = self._n_deaths.get(path, 0) >= _MOST_DEATHS
                why = "the engine died over it twice" if deadly else "it was taken out again"
                answers.append(
                    DocumentIndexed(path=path, n_tokens=0, n_corpus_tokens=0, skipped=why)
                )
        return answers

    def again(self) -> Iterator[IndexDocument]:
        """Every file for a new engine, one after the other as the caller sends them."""
        self._sent = {path: self._sent.get(path) or deque([[]]) for path in self._kept}
        for path, command in list(self._kept.items()):
            if path in self._kept:  # it may have been taken out while another one was sent
                yield command
            else:
                self._sent.pop(path, None)

    def fail(self, failure: Exception) -> None:
        """No engine will answer any more."""
        for sent in self._sent.values():
            for waiter in (waiter for waiting in sent for waiter in waiting):
                if not waiter.done():
                    waiter.set_exception(failure)
        self._sent.clear()
