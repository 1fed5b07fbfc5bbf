"""Language models of the notebooks that run without a network: simple rules instead of a model.

They answer with the sentence of what they were given that shares most words with the question, and cite it. Put a real
model in their place; nothing else in a notebook changes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from llama_index.core.base.llms.types import CompletionResponse, CompletionResponseGen, LLMMetadata
from llama_index.core.llms.callbacks import llm_completion_callback
from llama_index.core.llms.custom import CustomLLM

DONT_KNOW = "I don't know. Nothing that I remember says so."
_SMALL = frozenset(
    "a an and are as at be by can did do does for from has have how i in is it me my not of on or our the their them "
    "they this to was we were what when where which who why will with you your".split()
)
_WHO_AND_WHEN = re.compile(r"^\d{4}-\d\d-\d\d, [^:]*: ")
_SOURCE = re.compile(r"^(?:Source )?\[?(\d+)[\]:]:?\s*(.*)$")


def answer(prompt: str) -> str:
    """What the rules say to a prompt with sources and a question: the best sentence, with its source's number if any.

    Sources are numbered ("[1] …", "Source 1:"), or the paragraphs that LlamaIndex's prompts put between their lines. To
    a prompt that asks for a follow-up question to be made whole, the rules say it with the question before it.
    """
    if "Standalone question:" in prompt:
        return _whole(prompt)
    sources, question = _numbered(prompt)
    sources = sources or _paragraphs(prompt)
    if not sources:
        return DONT_KNOW
    asked = _words(question)
    best, sentence, number = -1.0, "", 0
    for place, (own_number, text) in enumerate(sources):
        for candidate in re.split(r"(?<=[.!?])\s+", text):
            shared = len(asked & _words(candidate)) + 0.9 / (1 + place)  # an earlier source wins a tie
            if shared > best and len(candidate.split()) > 3 and not candidate.endswith("?"):
                best, sentence, number = shared, candidate, own_number
    return f"{sentence} [{number}]" if number else sentence


def _numbered(prompt: str) -> tuple[list[tuple[int, str]], str]:
    """The sources with their numbers, and the question: the last line that is one."""
    sources: list[tuple[int, str]] = []
    question = ""
    for line in prompt.splitlines():
        found = _SOURCE.match(line)
        if found:
            sources.append((int(found[1]), _WHO_AND_WHEN.sub("", found[2].strip())))
        elif re.match(r"(Question|Query|user):", line, re.IGNORECASE):
            question = line.split(":", 1)[1].strip()
        elif sources and _is_text(line) and not sources[-1][1]:
            sources[-1] = (sources[-1][0], line.strip())
    return [source for source in sources if source[1]], question


def _paragraphs(prompt: str) -> list[tuple[int, str]]:
    """What stands between the lines of LlamaIndex's prompts; 0 for the number that it does not have."""
    between = re.search(r"(?:-{9,}|for the context:)\n(.*?)(?:-{9,}|Instruction:)", prompt, re.DOTALL)
    lines = between[1].splitlines() if between else []
    return [(0, line.strip()) for line in lines if _is_text(line)]


def _is_text(line: str) -> bool:
    """Whether it is no empty line, and no line of metadata ("page: Booking")."""
    return bool(line.strip()) and not re.match(r"\s*[a-z_]+: ", line)


def _whole(prompt: str) -> str:
    """A follow-up question that can stand alone."""
    asked = re.findall(r"^\s*user: (.*)$", prompt, re.MULTILINE)
    follow_up = re.search(r"Follow Up Input: (.*)", prompt)
    return " ".join([follow_up[1] if follow_up else "", *asked[-1:]]).strip()


def _words(text: str) -> set[str]:
    return {word.removesuffix("s") for word in re.findall(r"[\w-]+", text.lower()) if word not in _SMALL}


class RuleChatModel(BaseChatModel):
    """LangChain's chat model that answers by `answer`, a word at a time where it is streamed."""

    @property
    def _llm_type(self) -> str:
        return "rules"

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        said = answer(_prompt(messages))
        return ChatResult(generations=[ChatGeneration(message=AIMessage(said))])

    def _stream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> Iterator[ChatGenerationChunk]:
        for word in re.findall(r"\S+\s*", answer(_prompt(messages))):
            yield ChatGenerationChunk(message=AIMessageChunk(word))


def _prompt(messages: Sequence[BaseMessage]) -> str:
    return "\n".join(str(message.content) for message in messages)


class RuleLLM(CustomLLM):
    """LlamaIndex's LLM that answers by `answer`; a follow-up it makes whole with the names of what was said before."""

    @property
    def metadata(self) -> LLMMetadata:
        """What it can take."""
        return LLMMetadata(model_name="rules", context_window=8_000, num_output=256)

    @llm_completion_callback()
    def complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> CompletionResponse:
        """The answer."""
        return CompletionResponse(text=answer(prompt))

    @llm_completion_callback()
    def stream_complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> CompletionResponseGen:
        """The answer, a word at a time."""

        def words() -> CompletionResponseGen:
            text = ""
            for word in re.findall(r"\S+\s*", answer(prompt)):
                text += word
                yield CompletionResponse(text=text, delta=word)

        return words()
