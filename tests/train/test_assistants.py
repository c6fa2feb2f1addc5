"""Assistants: a stub server on loopback, a tiny model, and what counts as a negative."""

from __future__ import annotations

import json
import pickle
import socket
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cooper.data import refuted
from cooper.errors import UserError
from cooper.train import Request, assisted, endpoint, local_model

KEY = "sk-very-secret"


def chat(text: str | None) -> bytes:
    return json.dumps({"choices": [{"message": {"content": text}}]}).encode()


class Stub:
    """A server whose answer to the n-th request (from 0) is `reply(n, body)`."""

    def __init__(self, reply: Callable[[int, dict[str, Any]], tuple[int, bytes] | None]) -> None:
        self.seen: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.release = threading.Event()
        lock = threading.Lock()
        stub = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                with lock:
                    n = len(stub.seen)
                    stub.seen.append(body)
                    stub.headers.append(dict(self.headers.items()))
                answer = reply(n, body)
                if answer is None:  # never answer; the test lets go at its end
                    stub.release.wait(30)
                    return
                status, content = answer
                self.send_response(status)
                if 300 <= status < 400:
                    self.send_header("Location", "/elsewhere")
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *args: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.01,))
        self.thread.start()

    def close(self) -> None:
        self.release.set()
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()


@pytest.fixture
def serve(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Stub]]:
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    stubs: list[Stub] = []

    def start(reply: Callable[[int, dict[str, Any]], tuple[int, bytes] | None]) -> Stub:
        stubs.append(Stub(reply))
        return stubs[-1]

    yield start
    for stub in stubs:
        stub.close()


def echo(_: int, body: dict[str, Any]) -> tuple[int, bytes]:
    return 200, chat("to " + body["messages"][0]["content"])


# --- endpoint -----------------------------------------------------------------------------------


def test_answers_come_in_the_order_of_the_prompts(serve: Callable[..., Stub]) -> None:
    stub = serve(echo)
    ask = endpoint(stub.url, model="m", temperature=0.3, concurrency=4)
    prompts: list[str] = [f"p{i}" for i in range(20)]
    assert ask(prompts) == [f"to p{i}" for i in range(20)]
    assert ask.failures == {}
    assert ask([]) == []
    assert {(b["model"], b["temperature"], b["max_tokens"]) for b in stub.seen} == {
        ("m", 0.3, 1024)
    }
    assert {h["Authorization"] for h in stub.headers} == {f"Bearer {KEY}"}


def test_a_request_brings_its_length(serve: Callable[..., Stub]) -> None:
    stub = serve(echo)
    ask = endpoint(stub.url + "/v1", model="m", max_tokens=50, concurrency=1)
    ask([Request("a", max_tokens=7), Request("b", max_tokens=70), "c"])
    assert [b["max_tokens"] for b in stub.seen] == [7, 50, 50]


def test_no_key_no_header(serve: Callable[..., Stub]) -> None:
    stub = serve(echo)
    assert endpoint(stub.url, model="m", api_key_env="NO_SUCH_KEY")(["a"]) == ["to a"]
    assert "Authorization" not in stub.headers[0]


def test_errors_of_the_server_are_retried(serve: Callable[..., Stub]) -> None:
    stub = serve(lambda n, body: (500, b"") if n < 2 else (200, chat("fine")))
    assert endpoint(stub.url, model="m", retries=2, backoff=0)(["a"]) == ["fine"]
    assert len(stub.seen) == 3


@pytest.mark.parametrize(
    ("status", "body", "attempts", "reason"),
    [
        (500, b"oh", 3, "HTTP status 500 (3 of 3 attempts)"),
        (429, b"", 3, "HTTP status 429 (3 of 3 attempts)"),
        (401, KEY.encode(), 1, "HTTP status 401 (1 of 3 attempts)"),
        (307, b"", 1, "HTTP status 307 (1 of 3 attempts)"),  # the key goes nowhere else
        (302, b"", 1, "HTTP status 302 (1 of 3 attempts)"),
        (200, b"{not json", 3, "malformed reply (3 of 3 attempts)"),
        (200, b"\xff\xfe\xff", 3, "malformed reply (3 of 3 attempts)"),
        (200, b"[" * 100_000, 3, "malformed reply (3 of 3 attempts)"),
        (200, b'{"choices": []}', 3, "malformed reply (3 of 3 attempts)"),
        (200, b"[1]", 3, "malformed reply (3 of 3 attempts)"),
        (200, chat(None), 3, "empty answer (3 of 3 attempts)"),
        (200, chat("  "), 3, "empty answer (3 of 3 attempts)"),
    ],
)
def test_what_fails_is_none_with_its_reason(
    serve: Callable[..., Stub], status: int, body: bytes, attempts: int, reason: str
) -> None:
    stub = serve(lambda n, _: (status, body))
    ask = endpoint(stub.url, model="m", retries=2, backoff=0)
    assert ask(["a"]) == [None]
    assert ask.failures == {0: reason}
    assert len(stub.seen) == attempts


def test_one_failure_leaves_the_others_alone(serve: Callable[..., Stub]) -> None:
    stub = serve(lambda n, b: (400, b"") if b["messages"][0]["content"] == "bad" else echo(n, b))
    ask = endpoint(stub.url, model="m")
    assert ask(["a", "bad", "c"]) == ["to a", None, "to c"]
    assert set(ask.failures) == {1}


def test_a_server_that_never_answers_is_left(serve: Callable[..., Stub]) -> None:
    stub = serve(lambda n, body: None)
    ask = endpoint(stub.url, model="m", timeout=0.05, retries=1, backoff=0)
    assert ask(["a", "b"]) == [None, None]
    assert set(ask.failures.values()) == {"no answer in 0.05 s (2 of 2 attempts)"}


def test_a_worker_that_hangs_outside_every_timeout_is_left(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    release = threading.Event()
    ask = endpoint("http://127.0.0.1:9", model="m", timeout=0.01, retries=0)
    monkeypatch.setattr(type(ask), "_post", lambda self, prompt: str(release.wait(30)))
    assert ask(["a"]) == [None]
    assert ask.failures == {0: "no answer in time"}
    release.set()


def test_nobody_listening(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with socket.socket() as bound:  # bound, so that nobody else takes the port, but not listening
        bound.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{bound.getsockname()[1]}"
        ask = endpoint(url, model="m", retries=0, timeout=5)
        assert ask(["a"]) == [None]
    assert ask.failures[0].startswith("ConnectionRefusedError")


def test_a_reply_without_end_is_cut(
    serve: Callable[..., Stub], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cooper.train._endpoint.BODY", 10)
    ask = endpoint(serve(echo).url, model="m")
    assert ask(["a" * 100]) == [None]
    assert "longer than 10 bytes" in ask.failures[0]


def test_the_key_is_nowhere(serve: Callable[..., Stub], monkeypatch: pytest.MonkeyPatch) -> None:
    ask = endpoint(serve(lambda n, _: (401, KEY.encode())).url + "?token=hidden", model="m")
    ask(["a"])
    assert KEY not in repr(ask) + repr(ask.failures)
    assert KEY.encode() not in pickle.dumps(ask)
    assert "hidden" not in repr(ask) + repr(ask.failures)
    monkeypatch.setenv("OPENAI_API_KEY", KEY + "\nX: y")
    ask(["a"])
    assert ask.failures[0].startswith("the key in OPENAI_API_KEY cannot be sent")


@pytest.mark.parametrize("url", ["", "file:///etc/passwd", "host:8000", "http://", "http://h:x"])
def test_only_http(url: str) -> None:
    with pytest.raises(UserError, match="url"):
        endpoint(url, model="m")


def test_a_password_in_the_url_is_refused_and_not_repeated() -> None:
    with pytest.raises(UserError) as caught:
        endpoint("http://me:hunter2@host/v1", model="m")
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize(
    "options",
    [
        {"temperature": -1},
        {"concurrency": 0},
        {"timeout": 0},
        {"retries": -1},
        {"max_tokens": 0},
        {"backoff": -1},
    ],
)
def test_endpoint_names_bad_numbers(options: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=next(iter(options))):
        endpoint("http://host", model="m", **options)  # type: ignore[arg-type]


def test_a_request_pickles() -> None:
    request = pickle.loads(pickle.dumps(Request("a", max_tokens=3)))
    assert (request, request.max_tokens) == ("a", 3)


# --- a local model ------------------------------------------------------------------------------


class Characters:
    """The least a tokenizer can be."""

    chat_template = None
    pad_token_id = None
    eos_token_id = 0

    def __call__(self, text: str, **_: Any) -> dict[str, list[int]]:
        return {"input_ids": [1 + ord(c) % 31 for c in text]}

    def batch_decode(self, rows: Any, **_: Any) -> list[str]:
        return ["".join(chr(64 + int(i)) for i in row if i) for row in rows]


@pytest.fixture(scope="module")
def tiny() -> Any:
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    with torch.random.fork_rng([]):
        torch.manual_seed(0)
        return transformers.GPT2LMHeadModel(
            transformers.GPT2Config(
                vocab_size=32, n_positions=64, n_embd=16, n_layer=1, n_head=2, eos_token_id=0
            )
        )


def test_local_model_is_fixed_by_its_seed_and_leaves_no_trace(tiny: Any) -> None:
    import torch

    tiny.train()
    before = torch.random.get_rng_state()
    prompts: list[str] = ["ab", "a longer prompt", "c"]

    def answers(seed: int) -> list[list[str | None]]:
        ask = local_model(tiny, Characters(), max_new_tokens=6, seed=seed, batch_size=2)
        return [ask(prompts), ask(prompts)]

    first = answers(1)
    assert first == answers(1) != answers(2)
    assert first[0] != first[1]  # asked again, it answers anew
    assert torch.equal(before, torch.random.get_rng_state())
    assert tiny.training


def test_local_model_does_not_see_padding(tiny: Any) -> None:
    prompts: list[str] = ["ab", "a much longer prompt", "c"]

    def ask(size: int) -> list[str | None]:
        model = local_model(
            tiny, Characters(), max_new_tokens=5, temperature=0, seed=0, batch_size=size
        )
        return model(prompts)

    assert ask(3) == ask(1)


def test_local_model_says_what_it_could_not_answer(tiny: Any) -> None:
    ask = local_model(tiny, Characters(), max_new_tokens=10, seed=0)
    out = ask(["x" * 60, "", Request("x" * 60, max_tokens=4)])
    assert out[:2] == [None, None]
    assert ask.failures[0] == "60 + 10 tokens do not fit into 64"
    assert ask.failures[1] == "empty prompt"
    assert out[2] is None or len(out[2]) <= 4


@pytest.mark.parametrize(
    "options", [{"max_new_tokens": 0}, {"batch_size": 0}, {"temperature": -1}, {"seed": -1}]
)
def test_local_model_names_bad_numbers(options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(options))):
        local_model(None, None, **{"max_new_tokens": 1, "seed": 0, **options})


# --- assisted -----------------------------------------------------------------------------------


class Script:
    """An assistant that gives the next line of a script to every prompt."""

    def __init__(self, *lines: str | None) -> None:
        self.lines = lines
        self.rounds: list[list[str]] = []

    def __call__(self, prompts: list[str]) -> list[str | None]:
        line = self.lines[min(len(self.rounds), len(self.lines) - 1)]
        self.rounds.append(prompts)
        return [line] * len(prompts)


def write(ask: Any, n: int = 1, **options: Any) -> tuple[list[str | None], dict[int, str]]:
    writer = assisted(ask, **options)
    rng = np.random.default_rng(0)
    out = writer(["How many?"] * n, ["2 + 3 = 5"] * n, ["5"] * n, rng)
    return out, writer.failures


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("2 + 3 = 5.0", "not surely wrong"),  # equal in value to the reference
        ("It is 10/2", "not surely wrong"),
        ("I cannot say.", "not surely wrong"),
        ("2 + 3 = 5", "the same as the positive"),
        ("Here is a wrong solution: 2 + 3 = 6", "gives itself away"),
        (None, "no answer"),
        ("Wrong solution:\n ", "no answer"),
    ],
)
def test_a_bad_negative_is_refused_and_asked_again(line: str | None, reason: str) -> None:
    ask = Script(line, "2 + 3 = 6")
    assert write(ask) == (["2 + 3 = 6"], {})
    assert len(ask.rounds) == 2
    ask = Script(line)
    assert write(ask) == ([None], {0: reason})
    assert len(ask.rounds) == 3


def test_only_failures_are_asked_again() -> None:
    sizes = []

    def ask(prompts: list[str]) -> list[str | None]:
        sizes.append(len(prompts))
        return ["2 + 3 = 6" if i == 0 else "2 + 3 = 5.0" for i in range(len(prompts))]

    assert write(ask, 5) == (
        ["2 + 3 = 6"] * 3 + [None] * 2,
        dict.fromkeys((3, 4), "not surely wrong"),
    )
    assert sizes == [5, 4, 3]


def test_the_request_holds_the_task_and_its_length() -> None:
    ask = Script("6")
    write(ask, instructions="Do {this} %s.")
    (request,) = ask.rounds[0]
    assert isinstance(request, Request)
    assert request.max_tokens == 5 + 500
    for part in ("Do {this} %s.", "How many?", "2 + 3 = 5", "about 5 words"):
        assert part in request


def test_own_check_and_label() -> None:
    ask = Script("Wrong solution: blue")
    assert write(ask, wrong=lambda text, reference: text != reference)[0] == ["blue"]


def test_assisted_over_an_endpoint(serve: Callable[..., Stub]) -> None:
    stub = serve(lambda n, _: (200, chat("so 5" if n == 0 else "so 6")))
    out, failures = write(endpoint(stub.url, model="m"))
    assert (out, failures, len(stub.seen)) == (["so 6"], {}, 2)
    assert stub.seen[0]["max_tokens"] == 505


def test_assisted_names_bad_input() -> None:
    rng = np.random.default_rng(0)
    with pytest.raises(ValueError, match="tries"):
        assisted(Script("6"), tries=0)
    with pytest.raises(ValueError, match="same length"):
        assisted(Script("6"))(["q"], [], ["5"], rng)
    with pytest.raises(ValueError, match="ask"):
        assisted(lambda prompts: [])(["q"], ["p"], ["5"], rng)
    assert assisted(Script("6"))([], [], [], rng) == []


@given(st.lists(st.integers(0, 9), min_size=1, max_size=6), st.integers(0, 2**32))
def test_never_equal_to_the_reference_and_fixed_by_the_generator(
    values: list[int], seed: int
) -> None:
    def run() -> tuple[list[str | None], list[str]]:
        seen: list[str] = []

        def ask(prompts: list[str]) -> list[str | None]:
            seen.extend(prompts)
            return [f"so {(len(p) + len(seen)) % 10}" for p in prompts]

        columns = ["q"] * len(values), [f"is {v}" for v in values], [str(v) for v in values]
        return assisted(ask)(*columns, np.random.default_rng(seed)), seen

    out, seen = run()
    assert (out, seen) == run()
    assert len(seen) <= 3 * len(values)
    for text, value in zip(out, values, strict=True):
        assert text is None or refuted(text, str(value))


def test_a_resumed_assistant_gives_the_next_answers() -> None:
    class Ask:
        def __init__(self) -> None:
            self.calls = 0

        def __call__(self, prompts: list[str]) -> list[str | None]:
            self.calls += 1
            return [f"so {self.calls}"] * len(prompts)

        def state_dict(self) -> dict[str, int]:
            return {"calls": self.calls}

        def load_state_dict(self, state: dict[str, int]) -> None:
            self.calls = state["calls"]

    row = (["q"], ["so 9"], ["9"], np.random.default_rng(0))
    first, second = assisted(Ask()), assisted(Ask())
    assert first(*row) == ["so 1"]
    second.load_state_dict(first.state_dict())
    assert second(*row) == first(*row) == ["so 2"]
    stateless = assisted(lambda prompts: ["so 1"] * len(prompts))
    assert stateless.state_dict() == {}
    stateless.load_state_dict({})


def test_a_local_model_counts_its_calls_in_its_state() -> None:
    made = local_model(None, None, max_new_tokens=4, seed=0)
    made.load_state_dict({"calls": 7})
    assert made.calls == 7
    assert made.state_dict() == {"calls": 7}
