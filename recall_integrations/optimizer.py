"""`QueryOptimizer`: understands a query, asks the arms that are worth asking, and says why each hit is there.

    text ─ parse ─ plan ─ embed ─ arms ─ rank ─ rewrite ─ rerank ─ arrange ─ deliver ─▶ RecallResult

The stages are in `recall/`; `recall/runner.py` takes a recall through them.
"""

from __future__ import annotations

import asyncio
import functools
import multiprocessing
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from recall_integrations.collector import paused
from recall_integrations.errors import InvalidArgument, RecallTimeout, StoreClosed, refuse_unknown, refusing_unknown
from recall_integrations.resilience.deadline import Deadline
from recall_integrations.store.memory_store import MemoryStore
from recall_integrations.types import utc_now

if TYPE_CHECKING:  # what an optimizer is made of is loaded when one is made
    from recall_integrations.adapters.filters import FiltersLike
    from recall_integrations.arms.retrievers import ArmSpec
    from recall_integrations.config import RecallConfig
    from recall_integrations.conversations.remembering import Conversations
    from recall_integrations.judging.feedback import Judging
    from recall_integrations.learning.learner import Learner
    from recall_integrations.learning.learner import Step as LearningStep
    from recall_integrations.ranking.feature_sum import Ranker
    from recall_integrations.recall.runner import Observer, Stage
    from recall_integrations.resilience.guard import Health
    from recall_integrations.types import Memory, ParsedQuery, RecallResult, RetrievalPlan, Scope, ScopeLike
    from recall_integrations.types.facts import Conversation
    from recall_integrations.types.messages import Message
    from recall_integrations.types.observing import Feedback, RecallObserver, RecallRequest, Step, Window

CALLERS_MAX = 256  # of `arecall` at once; each waits in a thread of its own
CLOSE_S = 10.0  # that `close` waits for the conversation that is being read
REMEMBERING = ("scope", "thread", "privacy", "time_budget_ms", "again")
BUSY_SECONDS = 0.002  # how soon the next looks whether one of them has ended


class QueryOptimizer:
    """Understands a query, asks the arms that are worth asking, and says why each hit is there.

    Args:
        store: holds the memories.
        llm: for query rewrites: a LangChain chat model / LLM / Runnable, a LlamaIndex LLM, or `Callable[[str], str]`.
        reranker: a sentence-transformers cross-encoder name or path, a LangChain document compressor, a LlamaIndex
            node postprocessor, or `Callable[[str, list[str]], list[float]]`.
        config: all settings.
        clock: gives `now` where a call does not.
        ranker: orders the candidates instead of the one that `ranking.strategy` names.
        arms: arms of your own, beside the five (`ArmSpec`).
        stages: stages of your own (`recall.Stage`); each names the stage before it, or has the name of one whose place
            it takes.
        observers: each is called with a `recall.StageEvent` when a stage of a recall has ended, under
            `privacy="redact"` and `"block"` without its state; or it is a `types.observing.RecallObserver`, which is
            gets whole recalls: `observability.metrics.Metrics`, `observability.tracing.Tracing`,
            `observability.logs.RecallLog`.

    Threads may share one optimizer. Its threads end with the process, or when they have nothing to do; the store stays
    open when it is closed.
    """

    @refusing_unknown
    def __init__(
        self,
        store: MemoryStore,
        *,
        llm: Any = None,
        reranker: Any = None,
        config: RecallConfig | None = None,
        clock: Callable[[], datetime] = utc_now,
        ranker: Ranker | None = None,
        arms: Sequence[ArmSpec] = (),
        stages: Sequence[Stage] = (),
        observers: Sequence[Observer | RecallObserver] = (),
    ) -> None:
        with paused():
            from recall_integrations.config import checked_config
            from recall_integrations.recall.read_path import ReadPaths, Sources
            from recall_integrations.resilience.guard import Bulkhead

        if not isinstance(store, MemoryStore):
            raise InvalidArgument(
                f"store must be a MemoryStore, not {type(store).__name__}. Use MemoryStore.open(...)."
            )
        self.store = store
        settings = store.config if config is None else checked_config(config)
        self._sources = {
            "llm": llm,
            "reranker": reranker,
            "ranker": ranker,
            "clock": clock,
            "arms": tuple(arms),
            "stages": tuple(stages),
            "observers": tuple(observers),
        }
        self._paths = ReadPaths(Sources(store, settings, **self._sources), settings)
        self._changing = threading.Lock()
        self._feedback: Judging | None = None
        self._conversations: Conversations | None = None
        self._plain: QueryOptimizer | None = None
        self._callers = Bulkhead("async", CALLERS_MAX)
        self._open = True
        for observer in observers:
            attach = getattr(observer, "attached", None)
            if attach is not None:
                attach(self._paths.sources)

    @property
    def config(self) -> RecallConfig:
        """All settings. `reload` replaces them."""
        return self._paths.config

    def config_of(self, scope: ScopeLike | None) -> RecallConfig:
        """Return the settings in a scope: an entry of `scopes` may take precedence over the others."""
        from recall_integrations.types import checked_scope

        return self._paths.of(checked_scope(scope)).config

    def reload(self, config: RecallConfig | None = None) -> tuple[str, ...]:
        """Recall with other settings from now on; recalls under way end with theirs.

        Cached answers are forgotten. Breakers, and the measured times of components, stay.

        Args:
            config: the settings; `None` = those of the environment, and of the file that it names.

        Returns:
            Paths of the settings that have changed, such as `("rerank.top_n",)`.

        Raises:
            ConfigError: a setting is wrong, or cannot change while the store is open; nothing was changed.
        """
        from recall_integrations.config import checked_config
        from recall_integrations.config.recall_config import changed_settings, refuse_fixed
        from recall_integrations.recall.read_path import ReadPaths

        given = checked_config(config)
        with self._changing:
            changed = changed_settings(self.config, given)
            refuse_fixed(changed)
            if changed:
                self._paths = ReadPaths(self._paths.sources, given)  # breakers and times are kept, answers are not
        return changed

    @property
    def stages(self) -> tuple[Stage, ...]:
        """The stages of a recall, in order."""
        return self._paths.base.runner.stages

    @property
    def arms(self) -> tuple[str, ...]:
        """Names of the arms: the built-in ones, and those that were given."""
        return tuple(spec.name for spec in self._paths.sources.specs)

    @property
    def ranker(self) -> Ranker | None:
        """The ranker that was given; `None` = the one that `ranking.strategy` names."""
        ranker: Ranker | None = self._sources["ranker"]
        return ranker

    def varied(
        self,
        *,
        config: RecallConfig,
        ranker: Ranker | None = None,
        stages: Sequence[Stage] = (),
        outside: bool = True,
    ) -> QueryOptimizer:
        """Return another optimizer of the same store and parts, to try other settings. No observer sees its recalls.

        Args:
            config: settings of the new optimizer.
            ranker: of the new optimizer; `None` = the same.
            stages: added to those of this optimizer.
            outside: whether an LLM and a reranker are asked, if there are any.
        """
        sources = {**self._sources, "observers": (), "stages": (*self._sources["stages"], *stages)}
        if ranker is not None:
            sources["ranker"] = ranker
        if not outside:
            return QueryOptimizer(self.store, config=config, **{**sources, "llm": None, "reranker": None})
        reranking = self._paths.base.reranking
        if reranking is not None:
            sources["reranker"] = reranking.reranker  # its model is loaded once
        return QueryOptimizer(self.store, config=config, **sources)

    def load(self, *, scope: ScopeLike | None = None, scopes: Sequence[ScopeLike] | None = None) -> float:
        """Load the data of a scope into memory, for `limits.load_wait_ms` at most; return the seconds it took.

        A recall without a `time_budget_ms` does the same, beyond its time.
        """
        request = self.checked_request("load", scope=scope, scopes=scopes)
        return self._paths.load(request, Deadline.after(0))

    def warm(self, timeout: float | None = None) -> None:
        """Load the cross-encoder's model, if there is one, so that no recall has to go without it.

        Raises:
            RerankError: the model cannot be loaded.
            TimeoutError: the model was not ready within `timeout` seconds; loading goes on.
        """
        reranking = self._paths.base.reranking
        loading = None if reranking is None else reranking.warm()
        if loading is not None:
            loading.result(timeout)

    @property
    def has_llm(self) -> bool:
        """True if an LLM was given."""
        return self._sources["llm"] is not None

    @property
    def rewrite_prompt(self) -> str | None:
        """The prompt for the LLM, with `{query}` where the query goes; `None` = there is no LLM to ask.

        Setting another holds for all later recalls of this optimizer, as `rewriting.prompt` does: text with `{query}`
        in it; empty = that of the strategy.
        """
        rewriting = self._paths.base.rewriting
        return rewriting.template if rewriting.on else None

    @rewrite_prompt.setter
    def rewrite_prompt(self, template: str) -> None:
        if not self._paths.base.rewriting.on:
            raise InvalidArgument(
                "This optimizer rewrites nothing. Make it with an LLM: QueryOptimizer(store, llm=...)."
            )
        config = self.config
        self.reload(replace(config, rewriting=replace(config.rewriting, prompt=template)))  # checks it

    def health(self) -> tuple[Health, ...]:
        """Return the health of each component that may fail or hang (LLM, reranker, embedding, indexes, a server of
        vectors, the LLM that reads facts for the store): breaker, calls under way, hanging calls, usual time. Ordered
        by name; unused components are left out."""
        return tuple(sorted(self._paths.sources.health(), key=lambda one: one.component))

    def flush(self) -> None:
        """Wait until observers have received all recalls that have ended, judged recalls are replayed, and
        conversations are read (`remember_in_background`); without any, return at once. Observers also receive them
        when the optimizer goes, and when the process ends."""
        self._paths.sources.flush()
        if self._feedback is not None:
            self._feedback.flush()
        if self._conversations is not None:
            self._conversations.flush()

    def close(self) -> None:
        """Close the optimizer: later recalls raise `StoreClosed`; recalls under way go on to their end.

        A conversation that is being read may end, for `CLOSE_S` seconds. Those that wait are not read: their handles,
        and a warning each, say so.
        """
        self._open = False
        if self._conversations is not None:
            self._conversations.close(CLOSE_S)
        self._paths.sources.flush()
        if self._feedback is not None:
            self._feedback.close()
        self._paths.forget()

    def __deepcopy__(self, _memo: dict[int, Any]) -> QueryOptimizer:
        return self  # threads and an open store are shared, not copied

    def __reduce__(self) -> Any:
        """Pickle the arguments. The copy uses the store that is open in its process, or opens it there."""
        store = self.store
        opening = {"embedding": store.embedding_source, "config": store.config, "extractor": store.extractor_source}
        return _reopen, (store.address, opening, self.config, self._sources)

    # -- what follows use --------------------------------------------------------------------------------------------

    @refusing_unknown
    def feedback(
        self,
        result: RecallResult | str,
        *,
        helpful: Iterable[str] = (),
        wrong: Iterable[str] = (),
        cited: Iterable[str] = (),
        rating: float | bool | None = None,
        asked_again: bool = False,
        scope: ScopeLike | None = None,
        query: str | None = None,
        now: datetime | None = None,
        privacy: str = "allow",
    ) -> Feedback:
        """Say whether a recall helped. Kept before this returns, without any text.

        Several calls about one recall add up; for each memory the surest feedback counts, else the newest. Of
        one recall the surest 64 memories of a scope are kept: `gains` of the returned value says which.

        Args:
            result: the answer, or its `id`. The last 2,000 answers are known.
            helpful: ids of memories that answered; also of ones that were not among the hits.
            wrong: ids of hits that had nothing to do with it.
            cited: ids that an app saw quoted in the answer; counts half as much.
            rating: of the whole answer, from 0 to 1; `True` and `False` are thumbs. Up counts for the first hit unless
                others are named, down against all of them; a third as much.
            asked_again: whether the user asked much the same at once. Counts a little against all hits.
            scope: of the recall; under another scope the recall is unknown. Needed with `query` unless it is `Scope()`.
            query: its text, where the recall may be forgotten (another process gave the answer): then the hits that it
                finds now count as those of the recall.
            now: with `query`, its time.
            privacy: with `query`, the privacy mode of the recall: how much of its text may be kept.

        Raises:
            NotFound: the recall is unknown, and no query was given.
            InvalidArgument: no feedback is given, or an argument cannot be used; nothing was kept.
            StoreClosed: the store was closed.
        """
        self._living()
        found = self._judging().feedback(
            result, helpful=helpful, wrong=wrong, cited=cited, rating=rating, asked_again=asked_again, scope=scope,
            query=query, now=now, privacy=privacy,
        )  # fmt: skip
        self._paths.sources.tell("judged", found)
        return found

    def scopes_of(self, result_id: str) -> tuple[Scope, ...]:
        """Return the scopes that a recall searched; none where it is forgotten."""
        return self._judging().scopes_of(result_id)

    # -- conversations -----------------------------------------------------------------------------------------------

    @refusing_unknown
    def remember_conversation(
        self,
        turns: Iterable[Memory | str | Message],
        *,
        scope: ScopeLike | None = None,
        thread: str | None = None,
        privacy: str = "allow",
        time_budget_ms: float | None = None,
        again: bool = False,
    ) -> Conversation:
        """Store the turns of a conversation, and the memories that the LLM of this optimizer reads in them.

        The turns are stored first, as they are, and stay whatever the LLM does. A memory that it reads has their ids in
        `refs`, and the metadata `conversation` (the thread), `decision`, and `replaces` where an old memory no longer
        holds: that one stays, and comes behind the new one. Turns of tools and of the system are not read.

        Args:
            turns: as for `MemoryStore.remember_many`; a conversation that has grown may be given whole.
            scope: the tenant; default `Scope()`.
            thread: the conversation; default a new one.
            privacy: what the LLM sees: all of it (`allow`), texts without personal data and secrets (`redact`), or
                nothing (`block`: the turns are stored, and not read).
            time_budget_ms: until when the LLM reads, storing included; default a minute for each 20 turns. The turns
                are stored whole, however long that takes.
            again: read turns that were there before as well, such as `unread` of an earlier result.

        Raises:
            InvalidArgument: the optimizer has no LLM.
            InvalidMemory, InvalidScope: nothing was stored.
        """
        return self._remembering().remember(
            turns, scope=scope, thread=thread, privacy=privacy, time_budget_ms=time_budget_ms, again=again
        )

    async def aremember_conversation(self, turns: Iterable[Memory | str | Message], **options: Any) -> Conversation:
        """Remember a conversation without blocking the event loop: as `remember_conversation`, in a thread."""
        return await asyncio.to_thread(self.remember_conversation, turns, **options)

    def remember_in_background(self, turns: Iterable[Memory | str | Message], **options: Any) -> Future[Conversation]:
        """Store the turns, and return: one thread reads conversations in the order in which they came.

        The turns are durable when this returns. The handle's `result()` is that of `remember_conversation`, with the
        same options. While 100 conversations wait, a further one is stored and not read, and its result says so.
        `flush` waits for all of them.
        """
        refuse_unknown("QueryOptimizer.remember_in_background", options, REMEMBERING)
        return self._remembering().later(turns, **options)

    def _remembering(self) -> Conversations:
        from recall_integrations.conversations.remembering import Conversations

        self._living()
        with self._changing:
            if self._conversations is None:
                sources = self._paths.sources
                self._conversations = Conversations(
                    self.store,
                    sources.llm,
                    sources.guards,
                    recall=lambda: self._plainly().recall,
                    patterns=lambda scope: self.config_of(scope).privacy.compiled,
                )
            return self._conversations

    def _plainly(self) -> QueryOptimizer:
        """Return the optimizer that finds old memories: one for all, which keeps its threads and breakers."""
        plain, config = self._plain, self.config
        if plain is None or plain.config is not config:
            plain = self._plain = self.varied(config=config, outside=False)
        return plain

    def learn(
        self,
        scope: ScopeLike | None = None,
        *,
        force: bool = False,
        progress: Callable[[Scope, int, int], None] | None = None,
    ) -> tuple[LearningStep, ...]:
        """Learn from feedback, as `recall learn STORE run` and `recall serve` do (docs/learning.md).

        Args:
            scope: only this scope; default all.
            force: learn whatever was learned lately, and decide now about the version on trial.
            progress: called before each scope with the scope, its place and their number.

        Returns:
            The step that was taken in each scope.
        """
        from recall_integrations.types import checked_scope

        self._living()
        self.flush()
        return self.learner().run(None if scope is None else checked_scope(scope), force=force, progress=progress)

    def learner(self) -> Learner:
        """Return the learner, for what it has learned: `status`, `version`, `promote`, `rollback`."""
        from recall_integrations.learning.learner import Learner

        sources = self._paths.sources
        told = functools.partial(sources.tell, "learned")
        return Learner(self.store, self.config, told=told, shelf=sources.shelf)

    def checked_request(self, query: str, **arguments: Any) -> RecallRequest:
        """Return the checked arguments of a recall; arguments not given have their defaults (`recall`)."""
        request = self._paths.checked(query=query, **arguments)
        self._living()
        self.store.scope_id(request.scope)  # a closed store is an error before anything else happens
        return request

    def _judging(self) -> Judging:
        with self._changing:
            if self._feedback is None:
                from recall_integrations.judging.feedback import Judging

                self._feedback = Judging(self, self._paths.sources.lately, self._paths.sources.shelf)
            return self._feedback

    def _living(self) -> None:
        if not self._open:
            raise StoreClosed("This optimizer is closed. Make another: QueryOptimizer(store).")

    # -- the public read side --------------------------------------------------------------------------------------

    @refusing_unknown
    def parse(
        self,
        query: str,
        *,
        scope: ScopeLike | None = None,
        now: datetime | None = None,
        window: Window = None,
        timezone: str | None = None,
    ) -> ParsedQuery:
        """Understand a query without searching. Arguments as for `recall`.

        Raises:
            InvalidQuery: the query is empty, blank, too long, or not valid text.
            InvalidArgument: `now` is naive, the time zone is unknown, or the window is none.
        """
        return self._paths.path(scope).read(query, scope, now, window, timezone)

    def plan(self, parsed: ParsedQuery, *, scope: ScopeLike | None = None) -> RetrievalPlan:
        """Plan the recall of a parsed query, by the settings of a scope. Pure."""
        return self._paths.path(scope).planning.made(parsed)

    @refusing_unknown
    def recall(
        self,
        query: str,
        *,
        k: int = 5,
        scope: ScopeLike | None = None,
        filters: FiltersLike = None,
        now: datetime | None = None,
        time_budget_ms: float | None = None,
        tokens_max: int | None = None,
        privacy: str = "allow",
        window: Window = None,
        timezone: str | None = None,
        context: int = 0,
        query_vector: Any = None,
        strict: bool = False,
        score_min: float | None = None,
        watch: Step | None = None,
        scopes: Sequence[ScopeLike] | None = None,
        as_of: datetime | None = None,
    ) -> RecallResult:
        """Find the memories that answer a query.

        Args:
            query: a question or words; beyond 32,768 characters both ends of it.
            k: number of hits wanted; exactly that many come back where there are that many.
            scope: the tenant, or a mapping of its parts; default `Scope()`.
            filters: hard conditions: `Filters`, a mapping such as `{"source": "wiki"}`, or `MetadataFilters`.
            now: the time that "yesterday" is relative to; timezone-aware; default the optimizer's clock.
            time_budget_ms: the deadline, loading the scope included; default `limits.time_budget_ms` without loading.
            tokens_max: keep the hits' texts together within about this many tokens: the best one is cut at the end of
                a sentence where it is longer, of the others those are kept that add most.
            privacy: `allow`, `redact` (personal data and secrets are replaced) or `block` (no text at all: ids, refs
                and scores). It holds for everything that leaves the recall: the result with its query, plan, reasons
                and details, errors, logs, observers, and the input of an LLM or a reranker; under `block` these are
                not asked. An embedding sees the query, as it saw the memories (docs/privacy-modes.md).
            window: the time that is asked for, instead of the query's own: `TemporalWindow(start=…, end=…)`; with
                `False` no dates are read at all.
            timezone: IANA name of the zone in which "yesterday" is read; default `timezone` of the configuration.
            context: number of memories before and after each hit in its thread that come along.
            query_vector: the query's embedding, if the caller has it already.
            strict: raise where the default leaves something out and names it in `degraded`.
            score_min: score below which a hit is left out; default `ranking.score_min`.
            watch: gets the begin and the end of each stage and arm (`types.watching.Step`).
            scopes: instead of `scope`: hits of all these scopes in one ranking (docs/filters.md).
            as_of: the time at which the query asks how things are; default `now` (docs/facts.md). Leaves no memory out.

        Raises:
            InvalidQuery, InvalidArgument, InvalidScope, InvalidFilter: nothing was searched.
            StoreClosed: the store was closed.
            RecallTimeout, IndexUnavailable, PrivacyViolation, DegradationFailed: with `strict`, the hits are in the
                error's `result`.
        """
        began = time.monotonic()
        request = self.checked_request(
            query, k=k, scope=scope, scopes=scopes, filters=filters, now=now, time_budget_ms=time_budget_ms,
            tokens_max=tokens_max, mode=privacy, window=window, timezone=timezone, context=context,
            vector=query_vector, score_min=score_min, watch=watch, as_of=as_of,
        )  # fmt: skip
        return self._paths.recall(request, Deadline(began + request.time_budget_ms / 1e3), strict=strict)

    @refusing_unknown
    async def arecall(
        self,
        query: str,
        *,
        k: int = 5,
        scope: ScopeLike | None = None,
        filters: FiltersLike = None,
        now: datetime | None = None,
        time_budget_ms: float | None = None,
        tokens_max: int | None = None,
        privacy: str = "allow",
        window: Window = None,
        timezone: str | None = None,
        context: int = 0,
        query_vector: Any = None,
        strict: bool = False,
        score_min: float | None = None,
        watch: Step | None = None,
        scopes: Sequence[ScopeLike] | None = None,
        as_of: datetime | None = None,
    ) -> RecallResult:
        """Recall without blocking the event loop: the same path, in a thread. Cancelling it stops its arms.

        Raises:
            RecallTimeout: 256 other recalls are under way, and none of them ended within the time.
        """
        from recall_integrations.resilience.guard import Busy

        began = time.monotonic()
        request = self.checked_request(
            query, k=k, scope=scope, scopes=scopes, filters=filters, now=now, time_budget_ms=time_budget_ms,
            tokens_max=tokens_max, mode=privacy, window=window, timezone=timezone, context=context,
            vector=query_vector, score_min=score_min, watch=watch, as_of=as_of,
        )  # fmt: skip
        deadline = Deadline(began + request.time_budget_ms / 1e3)
        run = functools.partial(self._paths.recall, request, deadline, strict=strict)
        try:
            while True:
                running = self._callers.submit(run)
                if not (running.done() and isinstance(running.exception(), Busy)):
                    return await asyncio.wrap_future(running)
                if deadline.over:
                    raise RecallTimeout(
                        f"{CALLERS_MAX} recalls are under way. Ask fewer at once, or give them more time."
                    )
                await asyncio.sleep(BUSY_SECONDS)
        except asyncio.CancelledError:
            deadline.cancel()
            raise


def _reopen(path: str, opening: dict[str, Any], config: RecallConfig, sources: dict[str, Any]) -> QueryOptimizer:
    def opened() -> MemoryStore:
        return MemoryStore.attach(path, **opening)

    if multiprocessing.parent_process() is None:
        return QueryOptimizer(opened(), config=config, **sources)
    return _Copy(opened, config, sources)


class _Copy(QueryOptimizer):
    """The copy of an optimizer in a worker process: it opens its store when it is first used.

    A `multiprocessing.Pool` loses a task whose arguments cannot be unpickled, and waits for its result for ever. Where
    the store cannot be opened (most often since the parent has it open), the error is that of the first call instead.
    """

    def __init__(self, opened: Callable[[], MemoryStore], config: RecallConfig, sources: dict[str, Any]) -> None:
        self._opened, self._given, self._opening = opened, {"config": config, **sources}, threading.RLock()

    def close(self) -> None:
        """Close the optimizer: later recalls raise `StoreClosed`, whether there was one or not."""
        if "_open" in self.__dict__:
            super().close()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name in ("_opened", "_given", "_opening"):
            raise AttributeError(name)
        with self._opening:
            if name not in self.__dict__:
                QueryOptimizer.__init__(self, self._opened(), **self._given)
        return self.__dict__[name]
