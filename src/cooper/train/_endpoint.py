"""An assistant behind an OpenAI-compatible endpoint, with the standard library only.

Do not use it where questions and answers may not leave the machine: they are sent to the server.
"""

from __future__ import annotations

import http.client
import json
import os
import queue
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any

from cooper.errors import UserError
from cooper.train._request import room

BODY = 4 << 20  # bytes of a reply that are read at most
TRANSIENT = frozenset({408, 409, 425, 429})  # and every 5xx: worth another try


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """A redirect would carry the key to another host: report it instead of following it."""

    def redirect_request(self, *args: Any, **kwargs: Any) -> None:
        return None


class _Failed(Exception):
    """One attempt failed; `again` says whether another may succeed."""

    def __init__(self, reason: str, *, again: bool) -> None:
        super().__init__(reason)
        self.again = again


@dataclass
class Endpoint:
    """What `endpoint` returns: call it with prompts. Holds no secret: the key stays outside."""

    url: str = field(repr=False)  # its query may hold a token
    model: str
    api_key_env: str
    temperature: float
    concurrency: int
    timeout: float
    retries: int
    max_tokens: int
    backoff: float
    failures: dict[int, str] = field(default_factory=dict)  # of the latest call, by prompt

    def __call__(self, prompts: list[str]) -> list[str | None]:
        """Answers (N,) to prompts (N,); None where `failures` says why."""
        out: list[str | None] = [None] * len(prompts)
        self.failures = {}
        todo: queue.SimpleQueue[int] = queue.SimpleQueue()
        done: queue.SimpleQueue[tuple[int, str | None, str]] = queue.SimpleQueue()
        stop = threading.Event()
        for i in range(len(prompts)):
            todo.put(i)

        def work() -> None:
            while not stop.is_set():
                try:
                    i = todo.get_nowait()
                except queue.Empty:
                    return
                done.put((i, *self._answer(prompts[i], stop)))

        # Daemon threads rather than an executor: name look-ups and dripping servers know no
        # time-out, and must hold up neither this call nor the end of the program.
        workers = min(self.concurrency, len(prompts))
        for _ in range(workers):
            threading.Thread(target=work, daemon=True).start()
        waits = sum(self._wait(attempt) for attempt in range(self.retries))
        one = 2 * self.timeout * (self.retries + 1) + waits + 1
        deadline = time.monotonic() + one * -(-len(prompts) // max(workers, 1))
        missing = set(range(len(prompts)))
        try:
            while missing:
                i, text, reason = done.get(timeout=max(0.0, deadline - time.monotonic()))
                missing.discard(i)
                out[i] = text
                if text is None:
                    self.failures[i] = reason
        except queue.Empty:
            self.failures.update(dict.fromkeys(missing, "no answer in time"))
        finally:
            stop.set()
        return out

    def _wait(self, attempt: int) -> float:
        return min(self.backoff * float(2**attempt), 8.0)

    def _answer(self, prompt: str, stop: threading.Event) -> tuple[str | None, str]:
        """One prompt with its retries: (answer, "") or (None, reason)."""
        reason = ""
        for attempt in range(self.retries + 1):
            try:
                return self._post(prompt), ""
            except _Failed as failed:
                reason = f"{failed} ({attempt + 1} of {self.retries + 1} attempts)"
                if not failed.again or attempt == self.retries or stop.wait(self._wait(attempt)):
                    break
        return None, reason

    def _post(self, prompt: str) -> str:
        """One attempt. Reasons never quote the server, the URL or a header: they may hold keys."""
        payload = {
            "model": self.model,
            "messages": [{"role": "user", "content": str(prompt)}],
            "temperature": self.temperature,
            "max_tokens": room(prompt, self.max_tokens),
        }
        headers = {"Content-Type": "application/json", "User-Agent": "cooper"}
        if key := os.environ.get(self.api_key_env, "").strip():
            if not (key.isascii() and key.isprintable()):
                raise _Failed(f"the key in {self.api_key_env} cannot be sent", again=False)
            headers["Authorization"] = f"Bearer {key}"
        request = urllib.request.Request(self.url, json.dumps(payload).encode(), headers)
        deadline = time.monotonic() + self.timeout
        body = bytearray()
        try:
            opener = urllib.request.build_opener(_NoRedirect)
            with opener.open(request, timeout=self.timeout) as reply:
                while chunk := reply.read1(65536):
                    body += chunk
                    if len(body) > BODY:
                        raise _Failed(f"reply longer than {BODY} bytes", again=False)
                    if time.monotonic() > deadline:
                        raise TimeoutError
        except urllib.error.HTTPError as error:
            error.close()
            again = error.code in TRANSIENT or error.code >= HTTPStatus.INTERNAL_SERVER_ERROR
            raise _Failed(f"HTTP status {error.code}", again=again) from None
        except (OSError, UnicodeError, http.client.HTTPException) as error:
            cause = error.reason if isinstance(error, urllib.error.URLError) else error
            timed_out = isinstance(cause, TimeoutError)
            name = f"no answer in {self.timeout:g} s" if timed_out else type(cause).__name__
            raise _Failed(name, again=True) from None
        return _content(bytes(body))


def _content(body: bytes) -> str:
    """The answer in a chat completion."""
    try:
        text = json.loads(body)["choices"][0]["message"]["content"]
    except (ValueError, LookupError, TypeError, RecursionError):
        raise _Failed("malformed reply", again=True) from None
    if not isinstance(text, str) or not text.strip():
        raise _Failed("empty answer", again=True)
    return text.strip()


def endpoint(
    url: str,
    *,
    model: str,
    api_key_env: str = "OPENAI_API_KEY",
    temperature: float = 0.7,
    concurrency: int = 8,
    timeout: float = 60.0,
    retries: int = 3,
    max_tokens: int = 1024,
    backoff: float = 0.5,
) -> Endpoint:
    """Ask a server that speaks the OpenAI chat completions protocol (vLLM, llama.cpp, ...).

    Time is bounded: an attempt ends after about `timeout` seconds, a call at a deadline made of
    all attempts. Redirects are not followed. The key is read from the environment at each call,
    and is in no reason, representation or pickle.

    Args:
        url: of the server: "http://host:8000", ".../v1" or ".../v1/chat/completions".
        model: the name by which the server knows the model.
        api_key_env: environment variable with the key; no key is sent where it is not set.
        temperature: of the sampling, 0 or more.
        concurrency: requests under way at the same time.
        timeout: of one attempt, seconds.
        retries: further attempts after a time-out, a lost connection, a malformed reply, 429, 5xx.
        max_tokens: longest answer, tokens; a `Request` may ask for fewer.
        backoff: wait before the first retry, seconds; doubles up to 8.

    Returns:
        `ask(prompts)` -> answers, None where `ask.failures` (by prompt) says why.

    Raises:
        UserError: for a URL that is not http(s), or that holds a password.
        ValueError: for a number out of its range.

    Example:
        >>> endpoint("http://127.0.0.1:8000", model="assistant").url
        'http://127.0.0.1:8000/v1/chat/completions'
    """
    try:
        parts = urllib.parse.urlsplit(url)
        good = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        good = False
    if not good:
        raise UserError("url: expected http://HOST[:PORT][/v1] or https://..., of a chat server")
    if "@" in parts.netloc:
        raise UserError(f"url: holds a user or password; put the key into {api_key_env} instead")
    for name, value, low in (
        ("temperature", temperature, 0),
        ("concurrency", concurrency, 1),
        ("retries", retries, 0),
        ("max_tokens", max_tokens, 1),
        ("backoff", backoff, 0),
    ):
        if value < low:
            raise ValueError(f"{name}: got {value}, expected {low} or more")
    if not timeout > 0:
        raise ValueError(f"timeout: got {timeout}, expected more than 0 seconds")
    path = parts.path.rstrip("/")
    if not path.endswith("/chat/completions"):
        path += "/chat/completions" if path.endswith("/v1") else "/v1/chat/completions"
    return Endpoint(
        urllib.parse.urlunsplit(parts._replace(path=path, fragment="")),
        model,
        api_key_env,
        temperature,
        concurrency,
        timeout,
        retries,
        max_tokens,
        backoff,
    )
