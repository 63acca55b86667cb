"""The whole loop: from a click on "Send" in a real page to the pin in a request of the real Claude
Code, which runs offline with a model on loopback.
"""

import json
import shlex
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path

from tests.agents import install
from tests.agents.model import Answer
from tests.agents.program import run_conversation

from .figures import Figure
from .workplace import ROOT, TIMEOUT_S, Workplace

#: Prompts to one running program.
_BATCH = 5
#: In the page: when a button was clicked last, and when a pin was answered last, in milliseconds.
_WATCH = """
addEventListener("click", (event) => { window.clickedAt = event.timeStamp }, { capture: true })
const real = window.fetch
window.answeredAt = 0
window.fetch = async (...request) => {
  const answer = await real(...request)
  const isPin = request[1]?.method === "POST" && new URL(answer.url).pathname === "/pins"
  if (isPin) window.answeredAt = performance.now()
  return answer
}
"""


def loop(runs: int) -> list[Figure]:
    """From a click in a page to the pin's text in a request of the real claude, part by part."""
    program = install.claude()
    if program is None:
        raise SystemExit("Claude Code is not installed here: `make agents` fetches it")
    clicks: list[float] = []
    ours: list[tuple[float, float]] = []
    floor: list[float] = []
    with Workplace() as place, Workplace() as bare, ExitStack() as stack:
        place.init()
        place.hub()
        times = _timed_hook(place)
        send = stack.enter_context(_page(place))

        def drop(text: str) -> None:
            clicks.append(send(text))

        while len(ours) < runs:
            batch = min(_BATCH, runs - len(ours))
            floor += [there - asked for asked, there in _prompts(bare, program, batch)]
            ours += _prompts(place, program, batch, drop)
        stamps = [int(line) / 1e6 for line in times.read_text().split()]
    hooks = list(zip(stamps[::2], stamps[1::2], strict=True))
    if len(hooks) != runs:
        raise RuntimeError(f"{len(hooks)} hooks ran at {runs} prompts")
    asked, there = zip(*ours, strict=True)
    began, ended = zip(*hooks, strict=True)
    parts = {
        "click": ("click on Send to the answer to POST /pins", clicks),
        "prompt": ("prompt to the start of our hook", _between(asked, began)),
        "hook": ("our hook, from its start to its end", _between(began, ended)),
        "request": ("end of our hook to the model's request", _between(ended, there)),
    }
    whole = [sum(run) for run in zip(*(samples for _, samples in parts.values()), strict=True)]
    parts = {
        "": ("both ways together: click to answer, prompt to request with the pin", whole)
    } | parts
    both = "click on Send to its answer, and prompt to the model's request with the pin"
    return [
        Figure(
            name=f"loop-{name}".rstrip("-"),
            what=what,
            floor_is="the same prompt to the same program without a hook, to the model's request",
            unit="ms",
            ours=samples,
            floor=floor,
        )
        for name, (what, samples) in {"": (both, whole), **parts}.items()
    ]


def _between(begins: tuple[float, ...], ends: tuple[float, ...]) -> list[float]:
    return [end - begin for begin, end in zip(begins, ends, strict=True)]


def _prompts(
    place: Workplace, program: Path, count: int, before: Callable[[str], None] | None = None
) -> list[tuple[float, float]]:
    """Prompts to one running program: when each was asked, and when its request had come to the
    model, in milliseconds since 1970. `before` drops a pin of the given text, which the request
    must hold.
    """
    asked: list[float] = []
    there: list[float] = []
    texts = [f"The sum is wrong, {time.time_ns()}-{number}" for number in range(count)]
    steps: list[str | Callable[[], object]] = []
    for text in texts:
        if before:
            steps.append(partial(before, text))
        steps += [lambda: asked.append(_now()), "Go on."]
    answers = [Answer(text="Done.", meanwhile=lambda: there.append(_now())) for _ in texts]
    turn = run_conversation(
        program, *steps, project=place.project, environ=place.environ, answers=answers
    )
    if turn.exit_code or len(there) != count:
        raise RuntimeError(f"claude: exit {turn.exit_code}, {len(there)} requests\n{turn.stderr}")
    for number, text in enumerate(texts):
        if before and number not in turn.model.saw(text):
            raise RuntimeError(f"request {number} has no word of its pin")
    return list(zip(asked, there, strict=True))


def _now() -> float:
    return time.time() * 1000


def _timed_hook(place: Workplace) -> Path:
    """Let the hook of a prompt write down when it begins and ends, in nanoseconds. The file."""
    times = place.project / "times"
    path = place.project / ".claude" / "settings.json"
    settings = json.loads(path.read_text())
    (entry,) = settings["hooks"]["UserPromptSubmit"]
    (hook,) = entry["hooks"]
    stamp = f"date +%s%N >>{shlex.quote(str(times))}"
    hook["command"] = f"{stamp}; sh -c {shlex.quote(hook['command'])}; {stamp}"
    path.write_text(json.dumps(settings))
    return times


@contextmanager
def _page(place: Workplace) -> Iterator[Callable[[str], float]]:
    """The static example in a browser. The function drops a pin, and tells how many milliseconds
    it was from the click on Send to the hub's answer.
    """
    from playwright.sync_api import sync_playwright

    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        raise SystemExit("no chromium on PATH")
    with _example(place) as url, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page()
        page.add_init_script(_WATCH)
        page.goto(url)
        bar = page.get_by_role("toolbar", name="Pinbox")

        def send(text: str) -> float:
            bar.get_by_role("button", name="Pin", exact=True).click()
            box = page.locator("h1").bounding_box()
            assert box is not None
            page.mouse.click(box["x"] + 20, box["y"] + 10)
            page.keyboard.type(text)
            page.locator("pinbox-toolbar .card").get_by_role("button", name="Send").click()
            page.wait_for_function("answeredAt > clickedAt")
            took = float(page.evaluate("answeredAt - clickedAt"))
            page.keyboard.press("Escape")
            return took

        try:
            yield send
        finally:
            browser.close()


@contextmanager
def _example(place: Workplace) -> Iterator[str]:
    """`examples/static_page`, served out of the project as its page says. The address."""
    folder = place.project / "static_page"
    shutil.copytree(ROOT / "examples" / "static_page", folder)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    process = subprocess.Popen(
        [sys.executable, "serve.py", str(port)],
        cwd=folder,
        env=place.environ,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert process.stdout
    try:
        yield process.stdout.readline().strip()
    finally:
        process.kill()
        process.wait(TIMEOUT_S)
        process.stdout.close()
