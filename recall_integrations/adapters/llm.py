"""Any language model of a user as a function from text to text. Frameworks are not imported for it."""

from __future__ import annotations

import asyncio
import functools
import hashlib
import inspect
import itertools
import json
import math
import os
import re
import threading
import weakref
from collections.abc import Awaitable, Callable, Mapping
from types import MappingProxyType
from typing import Any, ClassVar, TypeVar

from recall_integrations.embeddings.base import has_ancestor
from recall_integrations.errors import InvalidArgument, RecallError
from recall_integrations.resilience.failures import failures
from recall_integrations.types.numbers import is_number

# Keys of an answer that is a mapping; the last two are of LangChain's structured output with `include_raw`.
HOLDING = ("content", "text", "output", "answer", "parsed", "raw")
RAW = {"role", "content", "message", "finish_reason"}  # keys of a record in an API's reply, which is no answer
METHODS = ("invoke", "complete", "ainvoke", "acomplete")  # of an object that is neither framework's, nor a function


MODELS = ("model_name", "model")
PLACES = ("base_url", "openai_api_base", "api_base", "azure_endpoint", "azure_deployment", "temperature", "max_tokens")
_TOKENS: dict[int, str] = {}  # by the id of the object that has it
_KEPT: list[object] = []  # objects that live on because of their token


class LlmError(RecallError):
    """The language model raised, or returned something that holds no text."""

    code: ClassVar[str] = "LLM_ERROR"


def resolve_llm(source: object) -> Callable[[str], str] | None:
    """Return a function from prompt to answer; `None` stays `None`."""
    if source is None:
        return None
    by_name = [getattr(source, name, None) for name in METHODS]
    if has_ancestor(source, "langchain_core", "Runnable"):
        return _asking(_either(by_name[0], by_name[2]), _named(source), source)
    if has_ancestor(source, "llama_index", "BaseLLM"):
        return _asking(_either(by_name[1], by_name[3]), _named(source), source)
    found = next(filter(callable, by_name), None)
    if found is not None and not callable(source) and not isinstance(source, type):  # as a client of theirs
        return _asking(found, _named(source), source)
    if callable(source) and not isinstance(source, type):
        return _asking(source, str(getattr(source, "__qualname__", _named(source))), source)
    raise InvalidArgument(
        f"{source!r} is not a language model. Pass a LangChain chat model, LLM or Runnable, a LlamaIndex LLM, an "
        "object with one of their methods (invoke, complete, ainvoke, acomplete), or a function from text to text."
    )


def identity_of(llm: Callable[[str], str] | None) -> str:
    """Return a text that tells one language model from another.

    It is the same in every process for a plain function, and for a model that gives its name.
    """
    return "" if llm is None else str(getattr(llm, "identity", getattr(llm, "__name__", type(llm).__name__)))


def _code_of(source: object) -> str:
    """Return a digest that tells a function or a model from others of its name; of most objects, their token alone."""
    code, closure = getattr(source, "__code__", None), getattr(source, "__closure__", None)
    bound = inspect.ismethod(source) or closure or getattr(source, "__defaults__", None)
    if code is not None and not bound:
        said = repr((code.co_filename, code.co_firstlineno, code.co_code, code.co_consts, code.co_names))
        said = re.sub(r" at 0x\w+", "", said)
    elif any(isinstance(getattr(source, name, None), str) for name in MODELS):
        said = repr([(name, getattr(source, name, None)) for name in (*MODELS, *PLACES)])
    else:
        said = _token_of(source)
    return hashlib.blake2b(said.encode("utf-8", "replace"), digest_size=8).hexdigest()


def _token_of(source: object) -> str:
    """Return a token that an object keeps while it lives. An id will not do: it goes to another object afterwards."""
    key = id(source)
    if key not in _TOKENS:
        _TOKENS[key] = os.urandom(8).hex()
        try:
            weakref.finalize(source, _TOKENS.pop, key, None)
        except TypeError:  # nothing may refer to it weakly
            _KEPT.append(source)
    return _TOKENS[key]


def _named(source: object) -> str:
    """Return the class and, if known, the model: a failure of one model says nothing of another."""
    model = next((m for m in (getattr(source, key, None) for key in MODELS) if isinstance(m, str)), "")
    return f"{type(source).__name__} {model}".strip()


def _either(function: Any, in_a_loop: Any) -> Callable[[str], Any]:
    """Return a function that calls the one that works: a client may have been written for the event loop only."""
    only_async = [False]

    def ask(prompt: str) -> Any:
        if not only_async[0]:
            try:
                return function(prompt)
            except (NotImplementedError, TypeError) as e:
                if not isinstance(e, NotImplementedError) and "coroutine function" not in str(e):
                    raise
                only_async[0] = True
        return in_a_loop(prompt)

    return ask


def _asking(function: Callable[..., Any], name: str, source: object) -> Callable[[str], str]:
    def ask(prompt: str) -> str:
        try:
            answer = function(prompt)
            if inspect.isawaitable(answer):
                answer = awaited(answer)
        except failures() as e:  # foreign code: whatever it raises becomes one named error
            raise LlmError(f"The language model {name} failed: {type(e).__name__}: {e}") from e
        text = text_of(answer)
        if text is None:
            raise LlmError(f"The language model {name} returned {type(answer).__name__}, which holds no text.")
        said = Said(text)
        said.usage = usage_of(answer)
        return said

    ask.__name__ = name
    ask.identity = f"{name} {_code_of(source)}".strip()  # type: ignore[attr-defined]
    return ask


class Said(str):
    """A model's text, and what the call took by its own account."""

    usage: Mapping[str, float] = MappingProxyType({})


# What frameworks and servers call it, and the places in their answers where they say it.
_USAGE = {
    "tokens_in": ("input_tokens", "prompt_tokens"),
    "tokens_out": ("output_tokens", "completion_tokens"),
    "cost": ("cost", "total_cost", "response_cost"),
}
_ACCOUNTS = ("usage_metadata", "usage", "token_usage", "additional_kwargs", "response_metadata", "raw", "message")
ACCOUNTS_MAX = 20


def usage_of(answer: object) -> dict[str, float]:
    """Return what a model's answer says of the call: `tokens_in`, `tokens_out`, `cost`; each where it is said."""
    found: dict[str, float] = {}
    accounts = [answer]
    try:
        for account in itertools.islice(accounts, ACCOUNTS_MAX):  # it grows meanwhile
            held: Any = account.get if isinstance(account, Mapping) else functools.partial(getattr, account)
            for name, spellings in _USAGE.items():
                for number in filter(is_number, [held(each, None) for each in spellings]):
                    if 0 <= number < math.inf:
                        found.setdefault(name, number)
            accounts += [part for part in (held(each, None) for each in _ACCOUNTS) if part is not None]
    except failures():  # foreign objects: a property that raises costs the account, not the answer
        return found
    return found


def text_of(answer: object) -> str | None:
    """Return the text in a model's answer: a string, message, completion, content blocks, or a mapping with one.

    Blocks that are not text (reasoning, tool calls, images) are left out. `None` if it is no kind of answer.
    """
    if isinstance(answer, str):
        return answer
    if isinstance(answer, list | tuple):
        return _joined(list(answer))
    if isinstance(answer, Mapping):
        held = [text_of(answer[key]) for key in HOLDING if key in answer]
        found = next((one for one in held if one is not None), None)
        return _plain(answer) if found is None else found
    message = getattr(answer, "message", None)  # LlamaIndex's ChatResponse
    for holder in (answer, message):
        content = getattr(holder, "content", None)  # LangChain's messages
        if isinstance(content, str | list):
            return text_of(content)
        text = getattr(holder, "text", None)  # LlamaIndex's CompletionResponse, prompt values, generations
        if isinstance(text, str):
            return str(text)
    dump = getattr(answer, "model_dump", None)  # structured output: an object of the caller's own model
    return _plain(dump()) if callable(dump) and not isinstance(answer, type) else None


def _plain(held: object) -> str | None:
    """Write plain data that holds a list of texts or of records as JSON; `None` where it holds none, or messages."""
    lists = [one for one in held.values() if isinstance(one, list | tuple)] if isinstance(held, Mapping) else []
    items = [one for each in lists for one in each]
    told = any(isinstance(one, str) or (isinstance(one, Mapping) and not RAW & {*one}) for one in items)
    return json.dumps(held, ensure_ascii=False, default=str) if told or (lists and not items) else None


def _joined(blocks: list[Any]) -> str:
    parts: list[str] = []
    for block in blocks:
        if isinstance(block, str):
            parts.append(block)
        elif isinstance(block, Mapping) and block.get("type", "text") in ("text", "output_text"):
            if isinstance(block.get("text"), str):
                parts.append(block["text"])
        elif getattr(block, "type", getattr(block, "block_type", None)) == "text":
            parts.append(str(getattr(block, "text", "")))
    return "".join(parts)


T = TypeVar("T")
LONGEST_SECONDS = 600.0  # the longest time limit that can be set: nobody waits any more, so it is cancelled
_lock = threading.Lock()
_running: dict[int, asyncio.AbstractEventLoop] = {}  # by process: a fork has its parent's loop, and nobody who runs it


def awaited(answer: Awaitable[T]) -> T:
    """Wait for an awaitable and return its result. Blocks the thread; errors of the awaitable are raised here."""

    async def waiting() -> T:
        return await asyncio.wait_for(answer, LONGEST_SECONDS)

    return asyncio.run_coroutine_threadsafe(waiting(), _loop()).result()


def _loop() -> asyncio.AbstractEventLoop:
    with _lock:
        loop = _running.get(os.getpid())
        if loop is None or loop.is_closed():
            loop = _running[os.getpid()] = asyncio.new_event_loop()
            threading.Thread(target=loop.run_forever, name="recall-event-loop", daemon=True).start()
        return loop
