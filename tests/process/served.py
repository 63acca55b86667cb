"""A process that serves a hub, asked over HTTP."""

import http.client
import json


class Process:
    """One that serves: where it is, and what it says."""

    def __init__(self, state):
        self._state = state

    def state(self):
        return self._state

    def ask(self, method, path, body=None):
        status, answer = self._answer(method, path, body)
        assert status < 400, answer
        return answer["data"]

    def status(self, method, path):
        return self._answer(method, path)[0]

    def _answer(self, method, path, body=None):
        connection = http.client.HTTPConnection("127.0.0.1", self._state.port, timeout=30)
        headers = {"Authorization": f"Bearer {self._state.token}"}
        try:
            connection.request(method, path, body and json.dumps(body), headers)
            answer = connection.getresponse()
            return answer.status, json.loads(answer.read())
        finally:
            connection.close()

    def write(self, count):
        for number in range(count):
            self.ask("POST", "/pins", {"text": f"pin {number}", "author": {"userId": "u"}})

    def toolbars(self):
        return self.ask("GET", "/summary")["connectedToolbars"]
