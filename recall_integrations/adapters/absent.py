"""Which frameworks are installed, and the retriever's bases in place of one that is not (docs/install.md)."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

from pydantic import BaseModel

from recall_integrations.errors import MissingExtra, installing


def _there(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except (ImportError, ValueError):  # its import is blocked
        return False


LANGCHAIN = _there("langchain_core")
LLAMA_INDEX = _there("llama_index_instrumentation")  # `llama_index` may be there for its lists of stop words alone


def _needs(package: str, what: str) -> Any:
    def refused(self: object, *_given: Any, **_more: Any) -> Any:
        raise MissingExtra(f"{what} needs {package}, which is not installed. Install it with: {installing(package)}")

    return refused


class Absent:
    """A class without objects: documents or nodes of a framework that is not installed."""


class NoLangChain(BaseModel):
    """A retriever that is none of LangChain's."""

    tags: list[str] | None = None
    metadata: dict[str, Any] | None = None
    invoke = ainvoke = batch = abatch = stream = astream = pipe = __or__ = as_tool = with_config = get_prompts = _needs(
        "langchain-core", "A LangChain retriever"
    )


class NoLlamaIndex:
    """A retriever that is none of LlamaIndex's."""

    retrieve = aretrieve = get_prompts = update_prompts = _needs("llama-index-core", "A LlamaIndex retriever")
