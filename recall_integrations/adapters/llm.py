"""Whatever the user has that answers a prompt, as a function from text to text.

Frameworks are imported only if the object's class comes from one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from recall_integrations.adapters.origin import comes_from
from recall_integrations.errors import InvalidArgument, RecallError
from recall_integrations.resilience.failures import failures


class LlmError(RecallError):
    """The language model raised, or returned something that holds no text."""

    code: ClassVar[str] = "LLM_ERROR"


def resolve_llm(source: object) -> Callable[[str], str] | None:
    """A function from prompt to answer; `None` stays `None`.

    Args:
        source: `None`; a LangChain chat model, LLM or any other `Runnable` that takes a prompt; a LlamaIndex LLM; or a
            function from text to text.

    Returns:
        A function that raises `LlmError` if the model fails or answers without text.

    Raises:
        InvalidArgument: it is none of these.
    """
    if source is None:
        return None
    if comes_from(source, "langchain_core"):
        from langchain_core.runnables import Runnable

        if isinstance(source, Runnable):
            return _asking(source.invoke, _named(source))
    if comes_from(source, "llama_index"):
        from llama_index.core.base.llms.base import BaseLLM

        if isinstance(source, BaseLLM):
            return _asking(source.complete, _named(source))
    if callable(source) and not isinstance(source, type):
        return _asking(source, str(getattr(source, "__qualname__", _named(source))))
    raise InvalidArgument(
        f"{source!r} is not a language model. Pass a LangChain chat model, LLM or Runnable, a LlamaIndex LLM, or a "
        "function from text to text."
    )


def _named(source: object) -> str:
    """Its class and its model, where it says that: what failed of one model says nothing of another."""
    model = next((m for m in (getattr(source, key, None) for key in ("model_name", "model")) if isinstance(m, str)), "")
    return f"{type(source).__name__} {model}".strip()


def _asking(function: Callable[..., Any], name: str) -> Callable[[str], str]:
    def ask(prompt: str) -> str:
        try:
            answer = function(prompt)
        except failures() as e:  # foreign code: whatever it raises becomes one named error
            raise LlmError(f"The language model {name} failed: {type(e).__name__}: {e}") from e
        text = text_of(answer)
        if text is None:
            raise LlmError(f"The language model {name} returned {type(answer).__name__}, which holds no text.")
        return text

    ask.__name__ = name
    return ask


def text_of(answer: object) -> str | None:
    """The text in a model's answer: a string, a message, a completion, content blocks, or a mapping with one of them.

    Blocks that are not text (reasoning, tool calls, images) are left out. `None` if it is no kind of answer.
    """
    if isinstance(answer, str):
        return answer
    if isinstance(answer, list | tuple):
        return _joined(list(answer))
    if isinstance(answer, Mapping):
        return next((text_of(answer[key]) for key in ("content", "text", "output", "answer") if key in answer), None)
    message = getattr(answer, "message", None)  # LlamaIndex's ChatResponse
    for holder in (answer, message):
        content = getattr(holder, "content", None)  # LangChain's messages
        if isinstance(content, str | list):
            return text_of(content)
        text = getattr(holder, "text", None)  # LlamaIndex's CompletionResponse, prompt values, generations
        if isinstance(text, str):
            return str(text)
    return None


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
