"""A llama.cpp server on the loopback interface: started, asked for one reply at a time, ended."""

import http.client
import json
import socket
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

_START_S = 300.0
_REPLY_S = 1800.0
_N_PACE, _N_TRIES = 25, 5
_HOST = "127.0.0.1"


class LlamaServer:
    """One server process with one slot."""

    def __init__(
        self, binary: Path, model: str, options: Sequence[str], n_ctx: int, threads: int, log: Path
    ) -> None:
        """Start it; `wait` before it is asked.

        Args:
            binary: the server.
            model: a GGUF file.
            options: further arguments, e.g. of its speculative types.
            n_ctx: context size in tokens.
            threads: threads for prompts and replies.
            log: file for its output.
        """
        with socket.socket() as free:
            free.bind((_HOST, 0))
            self._port = free.getsockname()[1]
        self._log = log
        fixed = {
            "--model": model,
            "--host": _HOST,
            "--port": self._port,
            "--ctx-size": n_ctx,
            "--parallel": 1,
            "--threads": threads,
            "--threads-batch": threads,
        }
        command = [str(binary), *(str(part) for pair in fixed.items() for part in pair)]
        with log.open("wb") as out:
            self._process = subprocess.Popen(
                [*command, "--no-ui", "--offline", *options],
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
            )

    def wait(self) -> None:
        """Wait until the model is loaded.

        Raises:
            RuntimeError: the server ended, or took too long; the end of its output says why.
        """
        deadline = time.monotonic() + _START_S
        while time.monotonic() < deadline and self._process.poll() is None:
            try:
                if self._ask("GET", "/health", None, 5.0)[0] == 200:
                    return
            except OSError:
                pass  # it does not listen yet
            time.sleep(0.3)
        self.close()
        lines = self._log.read_text("utf-8", "replace").splitlines()[-5:]
        raise RuntimeError("the server did not start:\n" + "\n".join(lines))

    def complete(self, prompt: Sequence[int], n_predict: int) -> dict[str, Any]:
        """Decode one reply greedily; its JSON, with the ids in `tokens` and times in `timings`.

        Raises:
            RuntimeError: the server refused.
        """
        return self._said(
            prompt, n_predict, {"samplers": ["top_k"], "top_k": 1, "temperature": 0.0}
        )

    def pace(self, seed: int) -> tuple[int, float]:
        """Decode tokens that nobody can foresee; how many, and the seconds that they took.

        Nothing of them has been said before, so a server drafts nothing, whatever its type: this is
        what a pass over one token takes in this very process. Of two processes with the same
        weights the one loaded later was up to 1.3 times as fast, all others being idle.

        Args:
            seed: another one gives other tokens.

        Raises:
            RuntimeError: the server refused.
        """
        drawn = {"samplers": ["top_k", "temperature"], "top_k": 100, "temperature": 9.0}
        for again in range(_N_TRIES):
            try:
                how = {**drawn, "seed": seed + again, "ignore_eos": True}
                timings = self._said([seed % 1000 + 100], _N_PACE, how)["timings"]
                break
            except RuntimeError:  # what was drawn is no text
                if again + 1 == _N_TRIES:
                    raise
        # The server's clock starts at the first token.
        return timings["predicted_n"] - 1, timings["predicted_ms"] / 1e3

    def _said(self, prompt: Sequence[int], n_predict: int, how: dict[str, Any]) -> dict[str, Any]:
        body = {
            "prompt": list(prompt),
            "n_predict": n_predict,
            "cache_prompt": True,
            "return_tokens": True,
            **how,
        }
        status, answer = self._ask("POST", "/completion", body, _REPLY_S)
        if status != 200:
            raise RuntimeError(f"the server answered {status}: {answer[:200]!r}")
        found: dict[str, Any] = json.loads(answer)
        return found

    def close(self) -> None:
        """End it."""
        self._process.terminate()
        try:
            self._process.wait(10.0)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _ask(self, method: str, path: str, body: object, timeout_s: float) -> tuple[int, bytes]:
        connection = http.client.HTTPConnection(_HOST, self._port, timeout=timeout_s)
        try:
            data = None if body is None else json.dumps(body)
            connection.request(method, path, data, {"Content-Type": "application/json"})
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()
