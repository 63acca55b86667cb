"""What `pinbox pin --file` and `--url` accept, and who the author is."""

import os
import subprocess

import pytest

from pinbox.commands import places
from pinbox.contract import PinboxError


@pytest.fixture
def repository(tmp_path, monkeypatch):
    """A git repository with src/app.ts, and the current directory in src."""
    (tmp_path / ".git").mkdir()
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "app.ts").write_text("x")
    monkeypatch.chdir(tmp_path / "src")
    return tmp_path


def test_a_file_is_stored_relative_to_the_top_of_its_repository(repository):
    assert places.source("app.ts") == {"file": "src/app.ts", "via": "none"}
    assert places.source(str(repository / "src" / "app.ts"))["file"] == "src/app.ts"
    assert places.source("../src/./app.ts")["file"] == "src/app.ts"


@pytest.mark.parametrize(
    ("given", "line"), [("app.ts:12", 12), ("app.ts:12:5", 12), ("app.ts:1", 1), ("app.ts", None)]
)
def test_a_line_may_follow_and_a_column_is_left_out(repository, given, line):
    found = places.source(given)
    assert found["file"] == "src/app.ts"
    assert found.get("line") == line


@pytest.mark.parametrize(
    "name",
    ["a#b.ts", "50%.ts", "100%25.ts", "why?.ts", "two words.ts", "日本語.ts", "a&b=c;.ts", "-x.ts"],
)
def test_a_name_may_hold_any_character(repository, name):
    (repository / "src" / name).write_text("x")
    assert places.source(name) == {"file": f"src/{name}", "via": "none"}
    assert places.source(f"{name}:7") == {"file": f"src/{name}", "line": 7, "via": "none"}


def test_a_file_whose_name_ends_like_a_line_wins(repository):
    (repository / "src" / "app.ts:12").write_text("x")
    assert places.source("app.ts:12") == {"file": "src/app.ts:12", "via": "none"}
    assert places.source("app.ts:12:5") == {"file": "src/app.ts:12", "line": 5, "via": "none"}
    assert places.source("app.ts:13") == {"file": "src/app.ts", "line": 13, "via": "none"}


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("gone.ts", "no file 'gone.ts'"),
        ("gone.ts:12", "no file 'gone.ts:12'"),
        (".", "'.' is not a file"),
        ("app.ts:0", "lines are counted from 1"),
        ("app.ts:x", "no file"),
        ("app.ts:", "no file"),
        ("", "no file ''"),
        (":12", "no file"),
    ],
)
def test_what_is_no_file_is_refused(repository, given, said):
    with pytest.raises(PinboxError) as caught:
        places.source(given)
    assert caught.value.code == "E_INVALID_INPUT"
    assert said in caught.value.message


def test_a_broken_link_and_a_name_that_is_not_text_are_refused(repository):
    os.symlink("nowhere", "broken")
    with pytest.raises(PinboxError, match="no file"):
        places.source("broken")
    with open(b"\xff.ts", "w"):
        pass
    with pytest.raises(PinboxError, match="not UTF-8"):
        places.source(os.fsdecode(b"\xff.ts"))


def test_outside_a_repository_a_file_is_relative_to_where_one_stands_or_absolute(
    tmp_path, monkeypatch
):
    here, there = tmp_path / "here", tmp_path / "here2"
    for folder in (here, there):
        folder.mkdir()
        (folder / "a.ts").write_text("x")
    monkeypatch.chdir(here)
    assert places.source("a.ts")["file"] == "a.ts"
    assert places.source("../here2/a.ts")["file"] == str(there / "a.ts")


def test_a_submodule_and_a_linked_worktree_are_tops_of_their_own(repository):
    module = repository / "module"
    module.mkdir()
    (module / ".git").write_text("gitdir: ../.git/modules/module\n")
    (module / "a.ts").write_text("x")
    assert places.source("../module/a.ts")["file"] == "a.ts"


def test_a_repository_reached_through_a_link_gives_the_same_path(repository, tmp_path_factory):
    link = tmp_path_factory.mktemp("elsewhere") / "link"
    link.symlink_to(repository)
    assert places.source(str(link / "src" / "app.ts"))["file"] == "src/app.ts"


@pytest.mark.parametrize(
    "url", ["http://localhost:3000/a?b#c", "https://x.example", "http://[::1]:8/", "HTTP://X"]
)
def test_an_absolute_web_address_is_taken_as_it_is(url):
    assert places.absolute_url(url) == url


@pytest.mark.parametrize(
    "url",
    ["", "/settings", "localhost:3000", "ftp://x", "http://", "javascript:alert(1)", "http://["],
)
def test_any_other_address_is_refused(url):
    with pytest.raises(PinboxError, match="absolute http or https"):
        places.absolute_url(url)


def test_the_author_is_who_git_says(tmp_path, monkeypatch):
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    for key, value in (("user.name", "Ada L"), ("user.email", "ada@example.org")):
        subprocess.run(["git", "-C", tmp_path, "config", key, value], check=True)
    monkeypatch.chdir(tmp_path)
    assert places.author() == {
        "userId": "ada@example.org",
        "name": "Ada L",
        "email": "ada@example.org",
    }


def test_without_git_the_author_is_the_user_else_unknown(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("USER", "ada")
    assert places.author() == {"userId": "ada"}
    monkeypatch.delenv("USER")
    assert places.author() == {"userId": "unknown"}


def test_a_git_that_has_no_identity_leaves_it_out(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USER", "ada")
    monkeypatch.chdir(tmp_path)
    assert places.author() == {"userId": "ada"}
