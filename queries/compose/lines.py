"""A page with two lines: the average flow as Cedilla gives it, and as a program computes it that ignores accents.

    python lines.py BROKER [HOST:]PORT

The wrong line is what most consumers do: they average the numbers of `readings` in each window of five seconds. The
right line is the topic `flow`, which the query writes.
"""

import json
import sys
import threading
from collections import defaultdict
from datetime import datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer

PAGE = Path(__file__).with_name("lines.html")
WINDOW = 5
SHOWN = 60
"""Windows that the page shows."""


class Lines:
    """The windows that have been read so far, and the last accent."""

    def __init__(self) -> None:
        self.wrong: defaultdict[float, list[float]] = defaultdict(list)
        self.right: dict[float, float] = {}
        self.accents: list[str] = []

    def read(self, topic: str, item: dict[str, Any]) -> None:
        """Takes a record of a topic."""
        if "$accent" in item and topic == "readings":
            self.accents.append(item["$accent"])
        elif topic == "readings" and "litres" in item:
            seconds = datetime.fromisoformat(item["at"]).timestamp()
            self.wrong[seconds // WINDOW * WINDOW].append(item["litres"])
        elif "litres" in item:
            self.right[datetime.fromisoformat(item["begin"]).timestamp()] = item["litres"]

    def answer(self) -> dict[str, Any]:
        """Returns the newest windows that the query has closed, each with both averages."""
        begins = sorted(self.right)[-SHOWN:]
        return {
            "windows": [
                {"begin": begin, "right": self.right[begin], "wrong": sum(raw) / len(raw)}
                for begin in begins
                if (raw := self.wrong.get(begin))
            ],
            "accents": self.accents[-5:],
        }


def read_topics(broker: str, lines: Lines) -> None:
    """Reads both topics for ever."""
    settings = {"group.id": "lines", "auto.offset.reset": "earliest", "isolation.level": "read_committed"}
    consumer = Consumer({"bootstrap.servers": broker, "enable.auto.commit": False, **settings})
    consumer.subscribe(["readings", "flow"])
    while True:
        message = consumer.poll(1.0)
        if message is not None and message.error() is None:
            lines.read(str(message.topic()), json.loads(message.value() or b"{}"))


def handler_of(lines: Lines) -> type[BaseHTTPRequestHandler]:
    """Returns the handler of the page and of its data."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            is_data = self.path == "/lines.json"
            body = json.dumps(lines.answer()).encode() if is_data else PAGE.read_bytes()
            self.send_response(200)
            self.send_header("Content-Type", "application/json" if is_data else "text/html; charset=utf-8")
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """Writes nothing."""

    return Handler


def main(broker: str, address: str) -> None:
    """Serves the page at an address."""
    host, _, port = address.rpartition(":")
    lines = Lines()
    threading.Thread(target=read_topics, args=(broker, lines), daemon=True).start()
    ThreadingHTTPServer((host or "127.0.0.1", int(port)), handler_of(lines)).serve_forever()


if __name__ == "__main__":
    main(*sys.argv[1:])
