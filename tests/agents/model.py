"""A stand-in for the Anthropic Messages API on loopback: scripted answers, every request kept.

Only requests that offer tools are turns of the conversation; titles, probes and token counts get
a constant.
"""

import json
import threading
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Body = dict[str, Any]
_USAGE = {
    "input_tokens": 10,
    "output_tokens": 5,
    "cache_creation_input_tokens": 0,
    "cache_read_input_tokens": 0,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What the model says next: a text that ends the turn, a shell command for the agent to run,
    the prompt of a subagent for it to start, or any other tool by its name, with its input.

    `meanwhile` is called before the answer is sent, while the agent waits for it. With `asked`, it
    is for the conversation whose first message holds that text.
    """

    text: str = ""
    #: An HTTP status instead of an answer.
    status: int = 0
    command: str = ""
    subagent: str = ""
    tool: tuple[str, Body] | None = None
    asked: str = ""
    meanwhile: Callable[[], object] | None = None


_ENOUGH = Answer(text="DONE")


def strings(value: object) -> Iterator[str]:
    """Every text in a decoded JSON document, in order."""
    if isinstance(value, dict):
        for item in value.values():
            yield from strings(item)
    elif isinstance(value, list):
        for item in value:
            yield from strings(item)
    elif isinstance(value, str):
        yield value


class Model:
    """`requests` are the bodies of the conversation's own requests, oldest first."""

    def __init__(self, answers: list[Answer]) -> None:
        self._answers = list(answers)
        self._lock = threading.Lock()
        self.requests: list[Body] = []
        self.errors: list[BaseException] = []

    def next(self, body: Body) -> Answer:
        with self._lock:
            self.requests.append(body)
            opening = self.opening(-1)
            answer = next((one for one in self._answers if one.asked in opening), _ENOUGH)
            if answer is not _ENOUGH:
                self._answers.remove(answer)
        if answer.meanwhile:
            try:
                answer.meanwhile()
            except BaseException as error:
                self.errors.append(error)
        return answer

    def opening(self, number: int) -> str:
        """The first message of the conversation that a request belongs to."""
        body = self.requests[number]
        return " ".join(strings((body.get("messages") or body.get("input", []))[:1]))

    def saw(self, text: str) -> list[int]:
        """Numbers (from 0) of the requests in which `text` stands."""
        return [
            number
            for number, body in enumerate(self.requests)
            if any(text in part for part in strings(body))
        ]


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    model: Model

    def log_message(self, *_: object) -> None:
        pass

    def do_HEAD(self) -> None:
        self._json(200, {})

    def do_GET(self) -> None:
        self._json(200, {"data": [], "has_more": False})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])) or b"{}")
        path = self.path.split("?")[0]
        if path == "/v1/messages/count_tokens":
            return self._json(200, {"input_tokens": 10})
        if path != "/v1/messages":
            error = {"type": "not_found_error", "message": "no such route here"}
            return self._json(404, {"type": "error", "error": error})
        answer = self.model.next(body) if body.get("tools") else Answer(text="ok")
        if answer.status:
            error = {"type": "overloaded_error", "message": "scripted"}
            return self._json(answer.status, {"type": "error", "error": error})
        block, stop = _block(answer)
        message = {
            "id": f"msg_{uuid.uuid4().hex[:20]}",
            "type": "message",
            "role": "assistant",
            "model": body.get("model", "none"),
            "content": [block],
            "stop_reason": stop,
            "stop_sequence": None,
            "usage": _USAGE,
        }
        return self._stream(message) if body.get("stream") else self._json(200, message)

    def _begin_stream(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        self.close_connection = True

    def _json(self, status: int, document: object) -> None:
        data = b"" if self.command == "HEAD" else json.dumps(document).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def _stream(self, message: Body) -> None:
        self._begin_stream()
        (block,) = message["content"]
        if block["type"] == "text":
            start: Body = {"type": "text", "text": ""}
            delta = {"type": "text_delta", "text": block["text"]}
        else:
            start = {**block, "input": {}}
            delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
        ended = {"stop_reason": message["stop_reason"], "stop_sequence": None}
        for event in (
            {"type": "message_start", "message": {**message, "content": [], "stop_reason": None}},
            {"type": "content_block_start", "index": 0, "content_block": start},
            {"type": "content_block_delta", "index": 0, "delta": delta},
            {"type": "content_block_stop", "index": 0},
            {"type": "message_delta", "delta": ended, "usage": {"output_tokens": 5}},
            {"type": "message_stop"},
        ):
            self.wfile.write(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode())
            self.wfile.flush()


class _OpenAIHandler(_Handler):
    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])) or b"{}")
        answer = self.model.next(body) if body.get("tools") else Answer(text="ok")
        if answer.status:
            error = {"type": "server_error", "message": "scripted"}
            self._json(answer.status, {"error": error})
            return
        self.reply(body, answer)

    def reply(self, body: Body, answer: Answer) -> None:
        raise NotImplementedError


class ResponsesHandler(_OpenAIHandler):
    """The same for OpenAI's Responses API, as far as Codex uses it."""

    def reply(self, body: Body, answer: Answer) -> None:
        item = _item(answer)
        usage = {"input_tokens": 10, "output_tokens": 5, "total_tokens": 15}
        response = {
            "id": f"resp_{uuid.uuid4().hex[:24]}",
            "object": "response",
            "created_at": 1,
            "status": "completed",
            "model": body.get("model", "none"),
            "output": [item],
            "usage": {**usage, "input_tokens_details": {"cached_tokens": 0}},
        }
        self._begin_stream()
        began = {**response, "status": "in_progress", "output": [], "usage": None}
        for number, event in enumerate(
            (
                {"type": "response.created", "response": began},
                {
                    "type": "response.output_item.added",
                    "output_index": 0,
                    "item": {**item, "status": "in_progress"},
                },
                {"type": "response.output_item.done", "output_index": 0, "item": item},
                {"type": "response.completed", "response": response},
            )
        ):
            document = json.dumps({**event, "sequence_number": number})
            self.wfile.write(f"event: {event['type']}\ndata: {document}\n\n".encode())
            self.wfile.flush()


def _item(answer: Answer) -> Body:
    some = uuid.uuid4().hex[:16]
    if answer.command:
        arguments = json.dumps({"cmd": answer.command})
        call = {"name": "exec_command", "call_id": f"call_{some}", "arguments": arguments}
        return {"type": "function_call", "id": f"fc_{some}", "status": "completed", **call}
    part = {"type": "output_text", "text": answer.text, "annotations": []}
    said = {"role": "assistant", "content": [part]}
    return {"type": "message", "id": f"msg_{some}", "status": "completed", **said}


class ChatHandler(_OpenAIHandler):
    """The same for OpenAI's Chat Completions, as far as Hermes uses them."""

    def reply(self, body: Body, answer: Answer) -> None:
        tool = answer.tool or (answer.command and ("terminal", {"command": answer.command}))
        message: Body = {"role": "assistant", "content": answer.text}
        if tool:
            call = {"name": tool[0], "arguments": json.dumps(tool[1])}
            made = {"id": f"call_{uuid.uuid4().hex[:16]}", "type": "function", "function": call}
            message = {"role": "assistant", "content": None, "tool_calls": [{"index": 0, **made}]}
        usage = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
        end = "tool_calls" if tool else "stop"
        shared = {"id": f"chatcmpl-{uuid.uuid4().hex[:20]}", "created": 1, "model": body["model"]}
        if not body.get("stream"):
            choice = {"index": 0, "message": message, "finish_reason": end}
            said = {**shared, "object": "chat.completion", "choices": [choice], "usage": usage}
            self._json(200, said)
            return
        self._begin_stream()
        for chunk in (
            {"choices": [{"index": 0, "delta": message, "finish_reason": None}]},
            {"choices": [{"index": 0, "delta": {}, "finish_reason": end}]},
            {"choices": [], "usage": usage},
        ):
            document = json.dumps({**shared, "object": "chat.completion.chunk", **chunk})
            self.wfile.write(f"data: {document}\n\n".encode())
            self.wfile.flush()
        self.wfile.write(b"data: [DONE]\n\n")


def _block(answer: Answer) -> tuple[Body, str]:
    if answer.command:
        name, told = "Bash", {"command": answer.command, "description": "a step of the task"}
    elif answer.subagent:
        name, told = "Task", {"prompt": answer.subagent, "description": "a part of the task"}
        told["subagent_type"] = "general-purpose"
    elif answer.tool:
        name, told = answer.tool
    else:
        return {"type": "text", "text": answer.text}, "end_turn"
    block_id = f"toolu_{uuid.uuid4().hex[:20]}"
    return {"type": "tool_use", "id": block_id, "name": name, "input": told}, "tool_use"


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: object, client_address: object) -> None:
        """An agent may hang up while it is answered; that is no failure of the test."""


@contextmanager
def serving(
    answers: list[Answer], speaks: type[BaseHTTPRequestHandler] = _Handler
) -> Iterator[tuple[Model, str]]:
    """The model and its base URL on 127.0.0.1."""
    model = Model(answers)
    server = _Server(("127.0.0.1", 0), type("Handler", (speaks,), {"model": model}))
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield model, f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
