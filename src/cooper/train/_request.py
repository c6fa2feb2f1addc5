"""What an assistant is asked: a prompt with the length that its answer may have."""

from __future__ import annotations


class Request(str):
    """A prompt that knows how many tokens its answer may take; elsewhere an ordinary string.

    Example:
        >>> request = Request("2 + 2 =", max_tokens=5)
        >>> request == "2 + 2 =", request.max_tokens
        (True, 5)
    """

    max_tokens: int

    def __new__(cls, text: str, *, max_tokens: int) -> Request:
        request = super().__new__(cls, text)
        request.max_tokens = max_tokens
        return request

    def __getnewargs_ex__(self) -> tuple[tuple[str], dict[str, int]]:
        return (str(self),), {"max_tokens": self.max_tokens}


def room(prompt: str, limit: int) -> int:
    """Tokens that the answer may take: the limit, or fewer where the prompt says so."""
    return min(prompt.max_tokens, limit) if isinstance(prompt, Request) else limit
