"""What is run to resume a session of each agent, and what its answer means, on recorded answers."""

import json
import uuid
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pinbox.agents import RESUMES, resume
from pinbox.agents.resume import environment

RECORDED = Path(__file__).parent.parent / "fixtures" / "agents"
UUID = "01a22d56-e5e3-7081-8605-170838a5bec3"
HERMES_ID = "20261130_163022_6bc6d8"
KEYS = {"claude": UUID, "codex": UUID, "hermes": HERMES_ID}
TEXT = '- a dash first, and $(words) of "all" kinds\n> and lines'
FLAGS = ("", "edit", "edit+network")

#: the first draw of any text builds tables of Unicode, which a busy machine takes seconds for


def recorded(agent: str) -> dict[str, dict[str, object]]:
    newest = max(RECORDED.glob(f"{agent}-*"))
    answers: dict[str, dict[str, object]] = json.loads((newest / "resume.json").read_text())
    return answers


def read(agent: str, name: str) -> resume.Answer:
    one = recorded(agent)[name]
    return RESUMES[agent].read(one["exitCode"], one["stdout"], one["stderr"])  # type: ignore[arg-type]


EXPECTED = {
    "claude": {
        "resumed": None,
        "unknown": "refused",
        "malformed": "refused",
        "status 401": "auth",
        "status 403": "auth",
        "no key": "auth",
        "status 429": "rate_limit",
        "status 529": "rate_limit",
        "status 500": "unclear",
        "status 404": "unclear",
        "network": "network",
        "blocked": "unclear",
    },
    "codex": {
        "resumed": None,
        "malformed": None,  # exit code 0: only the id that it names tells
        "unknown": "refused",
        "busy": "busy",
        "status 401": "auth",
        "status 403": "auth",
        "no key": "auth",
        "status 429": "rate_limit",
        "status 529": "rate_limit",
        "status 500": "rate_limit",  # "high demand", as it has it
        "status 503": "network",
        "no network": "network",
        "status 404": "unclear",
        "bad config": "unclear",
        "nogit": "unclear",
        "blocked": "unclear",
    },
    "hermes": {
        "resumed": None,
        "unknown": "refused",
        "status 401": "auth",
        "status 429": "rate_limit",
        "status 529": "rate_limit",
        "status 400": "unclear",
        "network": "network",
    },
}


@pytest.mark.parametrize("agent", EXPECTED)
def test_every_recorded_answer_has_its_expectation(agent):
    assert set(recorded(agent)) == set(EXPECTED[agent])


@pytest.mark.parametrize(
    ("agent", "name"), [(agent, name) for agent, names in EXPECTED.items() for name in names]
)
def test_a_recorded_answer_is_told_apart(agent, name):
    answer = read(agent, name)
    assert answer.trouble == EXPECTED[agent][name]
    assert bool(answer.why) == bool(answer.trouble)


@pytest.mark.parametrize("agent", RESUMES)
def test_a_confirmed_answer_names_its_session_and_says_what_the_agent_said(agent):
    answer = read(agent, "resumed")
    assert RESUMES[agent].KEY.fullmatch(answer.key or "")
    assert answer.said in ("DONE", "second") or answer.said.endswith("\nsecond")


def test_claude_and_codex_know_sessions_by_uuid_only():
    for agent in ("claude", "codex"):
        pattern = RESUMES[agent].KEY
        assert pattern.fullmatch(str(uuid.uuid4()))
        assert pattern.fullmatch(str(uuid.uuid4()).upper())
        for key in (
            "",
            "my title",
            "latest",
            "--last",
            f"-{UUID}",
            f"{UUID} ",
            UUID[:-1],
            HERMES_ID,
        ):
            assert not pattern.fullmatch(key)


def test_hermes_knows_sessions_by_its_own_ids_only():
    pattern = RESUMES["hermes"].KEY
    assert pattern.fullmatch(HERMES_ID)
    for key in (
        "",
        "latest",
        "-r",
        UUID,
        f"--{HERMES_ID}",
        HERMES_ID + "\n",
        "٢0261130_163022_6bc6d8",
    ):
        assert not pattern.fullmatch(key)


@pytest.mark.parametrize("permissions", FLAGS)
@pytest.mark.parametrize("agent", ["claude", "codex"])
def test_the_text_goes_by_stdin_and_never_by_argument(agent, permissions):
    command = RESUMES[agent].resume(UUID, TEXT, permissions=permissions, help_text="")
    assert command.stdin == TEXT
    assert TEXT not in " ".join(command.arguments)
    assert UUID in command.arguments


def test_hermes_gets_the_text_by_stdin_where_its_help_says_so():
    command = RESUMES["hermes"].resume(
        HERMES_ID, TEXT, permissions="", help_text="  --query-file FILE  Read the prompt from FILE"
    )
    assert command.stdin == TEXT
    assert command.arguments == ("chat", "-Q", "--query-file", "-", "--resume", HERMES_ID)


def test_an_older_hermes_gets_the_text_as_one_argument_that_is_no_option():
    command = RESUMES["hermes"].resume(HERMES_ID, TEXT, permissions="", help_text="usage: hermes")
    assert command.arguments == ("chat", "-Q", f"--query={TEXT}", "--resume", HERMES_ID)
    assert command.stdin == ""


@pytest.mark.parametrize("permissions", FLAGS)
@pytest.mark.parametrize("agent", RESUMES)
def test_no_check_of_the_agents_own_is_ever_bypassed(agent, permissions):
    for help_text in ("", "--query-file"):
        command = RESUMES[agent].resume(
            KEYS[agent], TEXT, permissions=permissions, help_text=help_text
        )
        options = " ".join(word for word in command.arguments if TEXT not in word)
        for word in ("dangerous", "bypass", "yolo", "full-access", "--trust", "-z", "fork"):
            assert word not in options


def test_without_the_users_word_no_permission_is_given():
    claude = RESUMES["claude"].resume(UUID, TEXT, permissions="", help_text="")
    assert claude.arguments == ("-p", "--resume", UUID, "--output-format", "json")
    codex = RESUMES["codex"].resume(UUID, TEXT, permissions="", help_text="")
    assert codex.arguments == ("exec", "resume", "--json", "--skip-git-repo-check", UUID, "-")


def test_edit_lets_the_agent_change_files_and_run_pinbox():
    claude = RESUMES["claude"].resume(UUID, TEXT, permissions="edit", help_text="")
    assert claude.arguments[-4:] == (
        *("--permission-mode", "acceptEdits"),
        *("--allowedTools", "Bash(pinbox:*)"),
    )
    codex = RESUMES["codex"].resume(UUID, TEXT, permissions="edit", help_text="")
    assert 'sandbox_mode="workspace-write"' in codex.arguments
    assert "network" not in " ".join(codex.arguments)
    wider = RESUMES["codex"].resume(UUID, TEXT, permissions="edit+network", help_text="")
    assert "sandbox_workspace_write.network_access=true" in wider.arguments
    assert wider.arguments[-2:] == (UUID, "-")


# --- answers that were not recorded ---------------------------------------------------------------


def claude_result(**more: object) -> str:
    result = {
        "type": "result",
        "is_error": False,
        "num_turns": 1,
        "session_id": UUID,
        "result": "x",
    }
    return json.dumps(result | more)


@pytest.mark.parametrize(
    ("result", "trouble"),
    [
        ({}, None),
        ({"is_error": True, "result": "API Error: Overloaded"}, "rate_limit"),
        ({"is_error": True, "result": "Claude AI usage limit reached|1796083200"}, "rate_limit"),
        ({"is_error": True, "result": "You've hit your session limit · resets 3pm"}, "rate_limit"),
        ({"is_error": True, "result": "Credit balance is too low"}, "rate_limit"),
        ({"is_error": True, "result": "Invalid API key · Please run /login"}, "auth"),
        ({"is_error": True, "result": "API Error: Connection error."}, "network"),
        ({"is_error": True, "result": "Prompt is too long"}, "unclear"),
        ({"is_error": "yes"}, "unclear"),
        ({"num_turns": 0}, "unclear"),
        # What the model says of its own work is no error.
        ({"result": "I fixed the rate limit: 429 is now shown, and /login works"}, None),
    ],
)
def test_an_error_of_claude_counts_whatever_its_exit_code(result, trouble):
    assert RESUMES["claude"].read(0, claude_result(**result), "").trouble == trouble


@pytest.mark.parametrize("stdout", ["", "hello", "{", "[]", '{"type": "system"}', "null"])
def test_no_result_of_claude_is_no_success(stdout):
    answer = RESUMES["claude"].read(0, stdout, "")
    assert (answer.trouble, answer.key) == ("unclear", None)


def test_claude_names_the_tools_it_was_not_permitted():
    denials = [{"tool_name": "Edit"}, {"tool_name": "Bash"}, {"tool_name": "Edit"}, "rubbish"]
    answer = RESUMES["claude"].read(0, claude_result(permission_denials=denials), "")
    assert answer.said == "x\n\n(not permitted: Bash, Edit)"


def test_the_instant_at_which_a_limit_ends_is_read():
    limit = claude_result(is_error=True, result="Claude AI usage limit reached|1796083200")
    assert RESUMES["claude"].read(1, limit, "").retry_at == 1_796_083_200


@pytest.mark.parametrize(
    ("said", "seconds"),
    [
        ("try again in 2 hours 5 minutes.", 7_500),
        ("Please try again in 11.5s. Visit", 11.5),
        ("Try again in 3 days 1 hour.", 262_800 + 0),
        ("try again in 20m", 1_200),
        ("try again later", None),
        ("try again in a moment", None),
        ("try again in 250ms", None),
    ],
)
def test_the_time_until_a_limit_ends_is_read(said, seconds):
    lines = [
        {"type": "thread.started", "thread_id": UUID},
        {"type": "turn.failed", "error": {"message": f"You've hit your usage limit; {said}"}},
    ]
    answer = RESUMES["codex"].read(1, "\n".join(map(json.dumps, lines)), "")
    assert answer.trouble == "rate_limit"
    assert answer.retry_after_s == seconds


def test_codex_that_was_ended_while_it_waited_for_its_network_had_no_network():
    one = recorded("codex")["no network"]
    assert one["exitCode"] is None
    assert read("codex", "no network").trouble == "network"


def test_an_error_late_in_a_long_text_is_not_taken_for_the_reason():
    """Behind its own words a program may quote the prompt, which is about anything."""
    said = "The request was not valid. " + "x" * 400 + " rate limit, /login, ECONNREFUSED"
    assert RESUMES["claude"].read(1, claude_result(is_error=True, result=said), "").trouble == (
        "unclear"
    )


@given(
    agent=st.sampled_from(sorted(RESUMES)),
    exit_code=st.none() | st.integers(-15, 255),
    stdout=st.text()
    | st.sampled_from(['{"type":"result","result":5}', '{"error":1,"type":"error"}']),
    stderr=st.text(),
)
def test_no_answer_at_all_makes_it_fail(agent, exit_code, stdout, stderr):
    answer = RESUMES[agent].read(exit_code, stdout, stderr)
    assert exit_code == 0 or answer.trouble is not None


DEEP = "[" * 100_000


@pytest.mark.parametrize(
    "line",
    [
        '{"type":"thread.started","thread_id":7}',
        '{"type":"item.completed","item":[]}',
        '{"type":"item.completed"}',
        '{"type":"turn.failed","error":"x"}',
        '{"type":"turn.completed"}',
        '{"type":"result","session_id":{},"permission_denials":{}}',
        '{"type":"result","is_error":false,"api_error_status":"429"}',
        f'{{"type":{DEEP}',
    ],
)
@pytest.mark.parametrize("agent", RESUMES)
def test_a_line_of_another_shape_is_no_trouble(agent, line):
    RESUMES[agent].read(0, line, "")


# --- environment ----------------------------------------------------------------------------------

SHELL = {
    "HOME": "/home/ada",
    "PATH": "/usr/bin",
    "LC_ALL": "C.UTF-8",
    "XDG_CONFIG_HOME": "/home/ada/.config",
    "https_proxy": "http://proxy.example:3128",
    "SSL_CERT_FILE": "/etc/ssl/company.pem",
}


@pytest.mark.parametrize(
    ("agent", "own"),
    [
        (
            "claude",
            ["ANTHROPIC_API_KEY", "CLAUDE_CONFIG_DIR", "CLAUDE_CODE_USE_BEDROCK", "AWS_PROFILE"],
        ),
        ("codex", ["OPENAI_API_KEY", "CODEX_HOME"]),
        ("hermes", ["HERMES_HOME", "OPENROUTER_API_KEY"]),
    ],
)
def test_an_agent_gets_what_it_needs_to_find_its_sessions_and_its_model(agent, own):
    environ = SHELL | dict.fromkeys(own, "x")
    assert environment(RESUMES[agent], environ, ()) == environ | {"TERM": "dumb"}


@pytest.mark.parametrize("agent", RESUMES)
def test_an_agent_gets_nothing_else(agent):
    foreign = {
        **dict.fromkeys(("CLAUDECODE", "CLAUDE_CODE_SESSION_ID", "CLAUDE_CODE_ENTRYPOINT"), "1"),
        **dict.fromkeys(("CODEX_THREAD_ID", "CODEX_SANDBOX", "HERMES_SESSION_ID"), "1"),
        **dict.fromkeys(("CODEX_SANDBOX_NETWORK_DISABLED", "AI_AGENT", "OPENCLAW_SHELL"), "1"),
        **dict.fromkeys(("PINBOX_TOKEN", "PINBOX_SECRET_KEY", "PINBOX_WEBHOOK_SECRET"), "1"),
        **dict.fromkeys(("GIT_DIR", "GIT_INDEX_FILE", "SSH_AUTH_SOCK", "GH_TOKEN"), "1"),
        **dict.fromkeys(("DATABASE_URL", "DJANGO_SETTINGS_MODULE", "VIRTUAL_ENV"), "1"),
        **dict.fromkeys(("LD_PRELOAD", "PYTHONPATH", "NODE_OPTIONS", "BASH_ENV", "ENV"), "1"),
        **dict.fromkeys(("BASH_FUNC_x%%", "PWD", "OLDPWD", "TERM_PROGRAM"), "1"),
    }
    assert environment(RESUMES[agent], SHELL | foreign, ()) == SHELL | {"TERM": "dumb"}


def test_the_user_adds_variables_by_name_but_never_ours():
    environ = SHELL | {"SSH_AUTH_SOCK": "/run/a", "PINBOX_TOKEN": "x", "GIT_DIR": "x"}
    got = environment(
        RESUMES["codex"], environ, ("SSH_AUTH_SOCK", "NOT_SET", "PINBOX_TOKEN", "GIT_DIR")
    )
    assert got == SHELL | {"SSH_AUTH_SOCK": "/run/a", "TERM": "dumb"}
