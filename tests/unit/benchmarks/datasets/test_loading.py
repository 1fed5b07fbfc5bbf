from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.datasets.loading import LOADERS, load
from recall_integrations.errors import InvalidArgument


def write(folder: Path, text: str = "Sam sails.") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "memories.jsonl").write_text(f'{{"id": "a", "text": "{text}"}}\n', encoding="utf-8")
    (folder / "questions.jsonl").write_text('{"query": "Who sails?", "relevant": ["a"]}\n', encoding="utf-8")
    return folder


@pytest.mark.parametrize("name", ["assistant", "projects", "phone", "documents", "talk"])
def test_a_folder_is_a_data_set_of_its_name(tmp_path: Path, name: str) -> None:
    folder = write(tmp_path / name)
    for path in (tmp_path, folder, str(folder)):
        data = load(path, name)
        assert (data.name, data.family, data.memories, len(data.questions)) == (name, "", 1, 1)


def test_languages_are_a_family(tmp_path: Path) -> None:
    write(tmp_path / "languages" / "de", "Sam segelt.")
    data = load(tmp_path, "languages/de")
    assert (data.name, data.family) == ("languages/de", "languages")
    assert load(tmp_path / "languages" / "de", "languages/de").memories == 1


def test_another_folder_is_not_taken_for_it(tmp_path: Path) -> None:
    write(tmp_path)  # one's own data, which is `jsonl`
    assert load(tmp_path, "jsonl").name == "jsonl"
    with pytest.raises(InvalidArgument, match=r"There is no .*phone"):
        load(tmp_path, "phone")
    with pytest.raises(InvalidArgument, match=r"There is no .*languages.de"):
        load(tmp_path, "languages/de")


@pytest.mark.parametrize("name", ["squad", "locomo_x", "phones", "languages", ""])
def test_an_unknown_name_is_refused_with_all_that_are_known(tmp_path: Path, name: str) -> None:
    with pytest.raises(InvalidArgument, match="Unknown data set") as caught:
        load(tmp_path, name)
    assert all(known in str(caught.value) for known in (*LOADERS, "languages/NAME"))
