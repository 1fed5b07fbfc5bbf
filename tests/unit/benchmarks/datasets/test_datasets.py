from __future__ import annotations

import copy
import json
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest

from benchmarks.datasets.jsonl import load_jsonl
from benchmarks.datasets.locomo import load_locomo
from benchmarks.datasets.locomo_chats import conversations
from benchmarks.datasets.multihop import load_multihop
from recall_integrations.errors import InvalidArgument
from recall_integrations.types import MemoryType, Scope

TALK = {
    "sample_id": "conv-1",
    "conversation": {
        "speaker_a": "Ann",
        "speaker_b": "Ben",
        "session_10_date_time": "12:05 am on 1 June, 2024",
        "session_10": [{"speaker": "Ben", "dia_id": "D10:1", "text": "Late."}],
        "session_2_date_time": "12:30 pm on 29 February, 2024",
        "session_2": [
            {"speaker": "Ann", "dia_id": "D2:1", "text": "Look!", "blip_caption": "a photo of a red bicycle"},
            {"speaker": "Ben", "dia_id": "D2:2", "text": "Nice.", "blip_caption": "two cups"},
        ],
        "session_3_date_time": "1:00 pm on 3 March, 2024",
    },
    "qa": [
        {"question": "What did Ann show?", "evidence": ["D2:1"], "category": 4, "answer": "x"},
        {"question": "When?", "evidence": ["D2:2; D10:1 D9:9", "D", "D2:2"], "category": 2, "answer": 1},
        {"question": "Which?", "evidence": [], "category": 5, "adversarial_answer": "y"},
    ],
}


def written(tmp_path: Path, content: Any, name: str = "locomo.json") -> Path:
    file = tmp_path / name
    file.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return file


class TestLocomo:
    def test_turns_become_memories_in_the_order_of_the_sessions(self, tmp_path: Path) -> None:
        (talk,) = load_locomo(written(tmp_path, [TALK])).collections
        assert (talk.name, talk.scope) == ("conv-1", Scope(user_id="locomo", namespace="conv-1"))
        assert [m.id for m in talk.memories] == ["D2:1", "D2:2", "D10:1"]
        first, second, last = talk.memories
        assert first.text == "Look! [shares a photo: a red bicycle]"
        assert second.text == "Nice. [shares a photo: two cups]"
        assert (first.actor, first.entities, first.thread, second.position) == ("Ann", ("Ann",), "session_2", 1)
        assert first.event_at == datetime(2024, 2, 29, 12, 30, 0, tzinfo=timezone.utc)
        assert second.event_at == second.created_at == datetime(2024, 2, 29, 12, 30, 1, tzinfo=timezone.utc)
        assert last.event_at == datetime(2024, 6, 1, 0, 5, tzinfo=timezone.utc)

    def test_gold_ids_are_read_with_a_pattern_and_must_exist(self, tmp_path: Path) -> None:
        data = load_locomo(written(tmp_path, [TALK]))
        assert [q.relevant for q in data.questions] == [("D2:1",), ("D2:2", "D10:1"), ()]
        assert [q.category for q in data.questions] == ["single-hop", "temporal", "adversarial"]
        assert [q.id for q in data.questions] == ["conv-1/0", "conv-1/1", "conv-1/2"]
        assert all(q.asked_at and q.asked_at > datetime(2024, 6, 1, 0, 5, tzinfo=timezone.utc) for q in data.questions)

    def test_the_import_gives_the_same_memories(self, tmp_path: Path) -> None:
        other = {**TALK, "sample_id": "conv-2"}
        file = written(tmp_path, [TALK, other])
        expected = [(c.scope, m) for c in load_locomo(file).collections for m in c.memories]
        assert [(told.scope, m) for told in conversations(file) for m in told.memories] == expected
        assert len(expected) == 6

    def test_a_folder_will_do(self, tmp_path: Path) -> None:
        (tmp_path / "locomo").mkdir()
        written(tmp_path / "locomo", [TALK], "locomo10.json")
        assert load_locomo(tmp_path).memories == load_locomo(tmp_path / "locomo").memories == 3

    @pytest.mark.parametrize(
        ("path", "value", "message"),
        [
            (["sample_id"], None, "conversation 0 has no 'sample_id'"),
            (["conversation"], [], "conversation 0 has no 'conversation'"),
            (["conversation", "session_2_date_time"], "8 May", "session_2: cannot read the session time '8 May'"),
            (["conversation", "session_2_date_time"], "1:00 pm on 30 February, 2024", "does not exist"),
            (["conversation", "session_2_date_time"], None, "cannot read the session time None"),
            (["conversation", "session_2", 1, "dia_id"], "D2:1", "'D2:1' comes twice"),
            (["conversation", "session_2", 1, "text"], 5, "session_2, turn 1 needs the texts"),
            (["conversation", "session_2", 0, "speaker"], "", "session_2, turn 0 cannot be a memory: Memory.actor"),
            (["qa"], None, "no 'qa' list"),
            (["qa", 0, "question"], " ", "question 0 has no 'question'"),
            (["qa", 1, "category"], 9, "question 1 has the unknown category 9"),
        ],
    )
    def test_a_bad_file_is_named_with_the_place(
        self, tmp_path: Path, path: list[Any], value: Any, message: str
    ) -> None:
        bad: Any = copy.deepcopy(TALK)
        place = bad
        for key in path[:-1]:
            place = place[key]
        place[path[-1]] = value
        file = written(tmp_path, [bad])
        with pytest.raises(InvalidArgument) as caught:
            load_locomo(file)
        assert message in str(caught.value)
        assert str(file) in str(caught.value)

    @pytest.mark.parametrize("content", ["", "{", "[]", '{"a": 1}', "[1]", '"text"'])
    def test_other_content_is_refused(self, tmp_path: Path, content: str) -> None:
        file = written(tmp_path, content)
        with pytest.raises(InvalidArgument, match=r"locomo\.json"):
            load_locomo(file)
        with pytest.raises(InvalidArgument, match=r"locomo\.json"):
            list(conversations(file))

    def test_missing_and_ambiguous_files_are_refused(self, tmp_path: Path) -> None:
        with pytest.raises(InvalidArgument, match="Cannot read"):
            load_locomo(tmp_path / "absent.json")
        with pytest.raises(InvalidArgument, match="holds no JSON file"):
            load_locomo(tmp_path)
        (tmp_path / "bytes.json").write_bytes(b"\xff\xfe")
        with pytest.raises(InvalidArgument, match="Cannot read"):
            load_locomo(tmp_path / "bytes.json")

    def test_the_published_file(self, data_folder: Path) -> None:
        data = load_locomo(data_folder)
        assert (len(data.collections), data.memories, len(data.questions)) == (10, 5_882, 1_986)
        assert sum(len(q.relevant) > 0 for q in data.questions) == 1_981


class TestMultihop:
    def test_documents_by_title_and_gold_by_supporting_facts(self, tmp_path: Path) -> None:
        written(tmp_path, {"One": ["A.", " B."], "Two": ["C."]}, "hotpotqa_corpus.json")
        row = {"question": "Which?", "supporting_facts": [["Two", 0], ["One", 1], ["Two", 3]], "type": "bridge"}
        written(tmp_path, [row], "hotpotqa.json")
        (found,) = load_multihop(tmp_path, "hotpotqa").collections
        assert [(m.id, m.text, m.type) for m in found.memories] == [
            ("One", "One. A. B.", MemoryType.CHUNK),
            ("Two", "Two. C.", MemoryType.CHUNK),
        ]
        (question,) = found.questions
        assert (question.relevant, question.category, question.scope) == (("Two", "One"), "bridge", found.scope)

    def test_repeated_titles_get_ids_of_their_own(self, tmp_path: Path) -> None:
        passages = [{"title": "T", "text": "one"}, {"title": "T", "text": "two"}]
        written(tmp_path, passages, "musique_dev_corpus.json")
        gold = [
            {"title": "T", "paragraph_text": "two", "is_supporting": True},
            {"title": "T", "paragraph_text": "one", "is_supporting": False},
        ]
        written(tmp_path, [{"id": "3hop1__1_2", "question": "Q?", "paragraphs": gold}], "musique_dev.json")
        (found,) = load_multihop(tmp_path, "musique").collections
        assert [(m.id, m.thread, m.position) for m in found.memories] == [("T", "T", 0), ("T#2", "T", 1)]
        assert (found.questions[0].relevant, found.questions[0].category) == (("T#2",), "3hop")

    def test_missing_ambiguous_and_bad_files(self, tmp_path: Path) -> None:
        with pytest.raises(InvalidArgument, match="is not a folder"):
            load_multihop(tmp_path / "absent", "musique")
        with pytest.raises(InvalidArgument, match="holds no musique"):
            load_multihop(tmp_path, "musique")
        written(tmp_path, [{"title": "T", "text": "one"}], "musique_a_corpus.json")
        with pytest.raises(InvalidArgument, match=r"musique_a\.json is missing"):
            load_multihop(tmp_path, "musique")
        written(tmp_path, [{"question": "Q?"}], "musique_a.json")
        with pytest.raises(InvalidArgument, match=r"question 0 has neither"):
            load_multihop(tmp_path, "musique")
        written(tmp_path, [{"title": "T"}], "musique_b_corpus.json")
        with pytest.raises(InvalidArgument, match="more than one"):
            load_multihop(tmp_path, "musique")
        written(tmp_path, [], "musique_b.json")
        with pytest.raises(InvalidArgument, match="document 0 needs"):
            load_multihop(tmp_path, "musique_b")

    def test_the_published_files(self, data_folder: Path) -> None:
        for name, documents in (("hotpotqa", 994), ("musique", 1_890)):
            data = load_multihop(data_folder, name)
            assert (data.memories, len(data.questions)) == (documents, 100)
            assert all(len(q.relevant) >= 2 for q in data.questions)
            assert len({m.id for m in data.collections[0].memories}) == documents


class TestOwnFolder:
    MEMORIES = (
        '{"id": "a", "text": "Sarah bakes bread.", "namespace": "one", "event_at": "2024-05-01T10:00:00Z"}\n\n'
        '{"id": "a", "text": "Sam\u2028sails.", "namespace": "two"}\n{"text": "No id.", "namespace": "two"}\n'
    )

    def load(self, folder: Path, questions: str, memories: str = MEMORIES) -> Any:
        folder.mkdir(exist_ok=True)
        written(folder, memories, "memories.jsonl")
        written(folder, questions, "questions.jsonl")
        return load_jsonl(folder)

    def test_each_scope_is_a_collection_with_its_questions(self, tmp_path: Path) -> None:
        question = '{"query": "Who sails?", "relevant": ["a"], "scope": {"namespace": "two"}}'
        self.load(tmp_path / "jsonl", question)
        data = load_jsonl(tmp_path)  # the parent will do
        assert (data.name, data.family, data.memories) == ("jsonl", "", 3)
        one, two = data.collections
        assert (one.name, one.scope, one.questions) == ("-/-/one", Scope(namespace="one"), ())
        assert one.memories[0].event_at == datetime(2024, 5, 1, 10, tzinfo=timezone.utc)
        assert [q.text for q in two.questions] == ["Who sails?"]
        assert len({m.id for m in two.memories}) == 2 and None not in {m.id for m in two.memories}

    def test_a_question_without_a_scope_is_asked_of_the_only_one(self, tmp_path: Path) -> None:
        question, memory = '{"query": "Who?", "relevant": ["a"]}', '{"id": "a", "text": "Sam.", "user_id": "sam"}'
        (only,) = self.load(tmp_path, question, memory).collections
        assert only.questions[0].scope == only.scope == Scope(user_id="sam")

    @pytest.mark.parametrize(
        ("questions", "memories", "message"),
        [
            ('{"query": "Who?", "relevant": ["a"]}', None, r"scope -/-/-, which has no memories"),
            (
                '{"query": "Who?", "relevant": ["z"], "scope": {"namespace": "one"}}',
                None,
                r"memory 'z'.*not in its scope",
            ),
            ('{"query": "Who?", "relevant": ["a"]}', '{"txt": 1}', r"line 1: unknown key 'txt'"),
            ('{"query": "Who?", "relevant": ["a"]}', "\n", r"holds no memories"),
            (
                '{"query": "Who?", "relevant": ["a"]}',
                '{"id": "a", "text": "x"}\n{"id": "a", "text": "y"}',
                r"line 2: the id 'a' was given to line 1",
            ),
        ],
    )
    def test_what_does_not_fit_is_named(
        self, tmp_path: Path, questions: str, memories: str | None, message: str
    ) -> None:
        with pytest.raises(InvalidArgument, match=message):
            self.load(tmp_path, questions, self.MEMORIES if memories is None else memories)

    def test_a_missing_file_is_named(self, tmp_path: Path) -> None:
        written(tmp_path, self.MEMORIES, "memories.jsonl")
        with pytest.raises(InvalidArgument, match=r"There is no .*questions\.jsonl"):
            load_jsonl(tmp_path)
