"""Commits in a repository where `pinbox init` ran: what they resolve, and what they never stop."""

import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.wait import wait_until

from .repository import PINBOX, Repository, make_repository

pytestmark = pytest.mark.process


@pytest.fixture(scope="module")
def living(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Repository]:
    """A repository with a commit in it, Pinbox installed and its hub at work."""
    found = make_repository(tmp_path_factory.mktemp("living"), "my app")
    found.commit("One")
    found.pinbox("init", "--yes")
    yield found
    found.run(PINBOX, "stop")


def drop(repository: Repository, text: str = "Too small") -> str:
    pin: str = repository.pinbox("pin", text)["id"]
    return pin


def pin(repository: Repository, pin_id: str) -> dict:
    return repository.pinbox("show", pin_id)["pin"]


def head(repository: Repository, cwd: Path | None = None) -> str:
    return repository.git("rev-parse", "HEAD", cwd=cwd)


def reopen_a_second_later(repository: Repository, pin_id: str) -> None:
    """git counts in seconds: let the commit's one pass before the pin is opened again."""
    second = int(time.time())
    wait_until(lambda: int(time.time()) > second, timeout=3)
    repository.pinbox("reopen", pin_id)
    again = datetime.now(UTC).timestamp()
    wait_until(lambda: time.time() > again + 1, timeout=3)


def test_a_commit_resolves_the_pin_it_fixes_with_its_full_hash(living):
    pin_id = drop(living)
    said = living.commit(f"Grow\n\nFixes {pin_id}")
    assert said == f"pinbox: resolved {pin_id} ({head(living)[:7]})\n"
    found = pin(living, pin_id)
    assert found["status"] == "resolved"
    assert found["resolution"]["commit"] == head(living)
    assert found["resolution"]["by"] == "human"


def test_every_pin_is_named_and_so_is_one_that_is_unknown(living):
    one, two = drop(living), drop(living)
    said = living.commit(f"Grow\n\nFixes: {one}, pin_0000000000 and {two}")
    assert said.splitlines() == [
        f"pinbox: resolved {one} ({head(living)[:7]})",
        f"pinbox: resolved {two} ({head(living)[:7]})",
        "pinbox: not resolved: no pin pin_0000000000 is known here",
    ]
    # The same commit come again says nothing of it: it may be somebody else's.
    again = living.run("git", "commit", "-q", "--amend", "--no-edit")
    assert (again.returncode, again.stderr) == (0, b"")


def test_an_agents_commit_is_resolved_by_the_agent(living):
    pin_id = drop(living)
    (living.root / "agent.txt").write_text("x")
    living.git("add", "agent.txt")
    env = {"CLAUDECODE": "1", "CLAUDE_CODE_SESSION_ID": "0f0f0f0f-aaaa"}
    done = living.run("git", "commit", "-q", "-m", f"Fixes {pin_id}", env=env)
    assert done.returncode == 0
    assert pin(living, pin_id)["resolution"]["by"] == "agent"


@pytest.mark.parametrize("message", ["Never fixes {}", "See {}", 'Revert "Fixes {}"', "> Fixes {}"])
def test_a_message_that_does_not_claim_it_resolves_nothing(living, message):
    pin_id = drop(living)
    assert living.commit(f"Words\n\n{message.format(pin_id)}") == ""
    assert pin(living, pin_id)["status"] == "open"


def test_an_amended_commit_leaves_the_resolution_as_it_is(living):
    pin_id = drop(living)
    living.commit(f"Fixes {pin_id}")
    first = head(living)
    assert living.commit(f"Better words\n\nFixes {pin_id}", "--amend") == ""
    assert head(living) != first
    assert pin(living, pin_id)["resolution"]["commit"] == first


def test_a_pin_added_by_an_amendment_is_resolved(living):
    pin_id = drop(living)
    living.commit("Grow")
    assert pin_id in living.commit(f"Grow\n\nFixes {pin_id}", "--amend")
    assert pin(living, pin_id)["resolution"]["commit"] == head(living)


def test_a_reopened_pin_stays_open_through_a_rebase_and_a_pick(living):
    pin_id = drop(living)
    base = head(living)
    living.git("checkout", "-q", "-b", "fix")
    living.commit(f"Fixes {pin_id}")
    fix = head(living)
    reopen_a_second_later(living, pin_id)
    living.git("checkout", "-q", "main")
    (living.root / "other.txt").write_text("x")
    living.git("add", "other.txt")
    living.git("commit", "-q", "-m", "Other")
    living.git("checkout", "-q", "fix")
    living.git("rebase", "-q", "main")
    assert head(living) != fix
    assert pin(living, pin_id)["status"] == "open"
    living.git("checkout", "-q", "-b", "picked", base)
    living.git("commit", "-q", "--allow-empty", "-m", "Elsewhere")
    living.git("cherry-pick", fix)
    assert pin(living, pin_id)["status"] == "open"
    living.git("commit", "-q", "--amend", "-m", f"Other words\n\nFixes {pin_id}")
    assert pin(living, pin_id)["status"] == "open"
    living.git("checkout", "-q", "main")


def test_a_reopened_pin_is_resolved_by_the_next_fix(living):
    pin_id = drop(living)
    living.commit(f"Fixes {pin_id}")
    reopen_a_second_later(living, pin_id)
    living.commit(f"Really grow\n\nFixes {pin_id}")
    assert pin(living, pin_id)["resolution"]["commit"] == head(living)


def test_a_reopened_pin_is_resolved_by_an_amendment_that_changes_files(living):
    pin_id = drop(living)
    living.commit(f"Fixes {pin_id}")
    reopen_a_second_later(living, pin_id)
    assert pin_id in living.commit(f"Fixes {pin_id}", "--amend")
    assert pin(living, pin_id)["resolution"]["commit"] == head(living)


def test_a_fixup_that_is_squashed_changes_nothing(living):
    pin_id = drop(living)
    living.commit(f"Fixes {pin_id}")
    first = head(living)
    living.commit("fixup", "--fixup", first)
    living.run("git", "rebase", "-q", "-i", "--autosquash", f"{first}~1", env={"EDITOR": "true"})
    assert pin(living, pin_id)["resolution"]["commit"] == first


def test_a_commit_in_a_worktree_resolves_the_pin_of_the_main_checkout(living):
    pin_id = drop(living)
    tree = living.root.parent / "tree é"
    living.git("worktree", "add", "-q", "-b", "tree", tree)
    assert pin_id in living.commit(f"Fixes {pin_id}", cwd=tree)
    assert pin(living, pin_id)["resolution"]["commit"] == head(living, tree)
    assert not (tree / ".pinbox").exists()


def test_a_commit_from_a_subfolder_or_with_git_dir_set_resolves(living):
    for where, env in (
        (living.root / "src", {}),
        (living.root, {"GIT_DIR": ".git", "GIT_WORK_TREE": "."}),
        (living.root.parent, {"GIT_DIR": "my app/.git", "GIT_WORK_TREE": "my app"}),
    ):
        where.mkdir(exist_ok=True)
        pin_id = drop(living)
        done = living.run(
            "git", "commit", "-q", "--allow-empty", "-m", f"Fixes {pin_id}", cwd=where, env=env
        )
        assert done.returncode == 0
        assert pin(living, pin_id)["status"] == "resolved", where


def test_a_merge_commit_resolves(living):
    pin_id = drop(living)
    living.git("checkout", "-q", "-b", "side")
    living.git("commit", "-q", "--allow-empty", "-m", "Side")
    living.git("checkout", "-q", "main")
    living.git("merge", "-q", "--no-ff", "-m", f"Merge\n\nFixes {pin_id}", "side")
    # git runs no post-commit for a merge without conflicts; the verb does the same by hand.
    done = living.pinbox("session", "trailer")
    assert done == {"resolved": [pin_id], "skipped": []}


def test_the_verb_tells_what_it_did_and_did_not(living):
    one, two = drop(living), drop(living)
    living.git("commit", "-q", "--no-verify", "--allow-empty", "-m", "No claim")
    assert living.pinbox("session", "trailer") == {"resolved": [], "skipped": []}
    living.commit(f"Fixes {one}")
    living.git("commit", "-q", "--allow-empty", "-m", f"Fixes {one}, {two}, pin_0000000000")
    assert living.pinbox("session", "trailer") == {
        "resolved": [],
        "skipped": [one, two, "pin_0000000000"],
    }


def test_a_revision_that_does_not_exist_is_refused_and_never_an_option(living):
    for revision in ("nothing", "--output=x", "-p", ""):
        done = living.run(PINBOX, "session", "trailer", f"--commit={revision or 'no'}")
        assert done.returncode == 2
        assert not (living.root / "x").exists()


def test_without_a_claim_no_hub_is_contacted(repository):
    repository.commit("One")
    repository.pinbox("session", "trailer")
    assert not (repository.root / ".pinbox").exists()
    assert not (repository.home / ".local").exists()


def test_a_hub_that_cannot_start_does_not_stop_the_commit_and_says_how_to_try_again(repository):
    repository.pinbox("init", "--yes")
    (repository.root / ".pinbox" / "pinbox.db").mkdir()
    started = time.monotonic()
    said = repository.commit("Fixes pin_aaaaaaaaa1")
    assert time.monotonic() - started < 30
    assert said.startswith("pinbox: not resolved: ")
    assert f"pinbox session trailer --commit {head(repository)[:12]}" in said


def test_a_project_below_the_top_gets_its_pins_resolved(repository):
    web = repository.root / "apps" / "web"
    (web / ".pinbox").mkdir(parents=True, mode=0o700)
    repository.pinbox("init", "--yes", cwd=web)
    pin_id = repository.pinbox("pin", "Too small", cwd=web)["id"]
    try:
        assert pin_id in repository.commit(f"Fixes {pin_id}")
        tree = repository.root.parent / "tree"
        repository.git("worktree", "add", "-q", tree)
        second = repository.pinbox("pin", "Too wide", cwd=web)["id"]
        assert second in repository.commit(f"Fixes {second}", cwd=tree)
    finally:
        repository.run(PINBOX, "stop", cwd=web)
