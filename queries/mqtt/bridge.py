"""Writes what devices announce and report over MQTT into a folder that a query reads: announcements as accents.

    python queries/mqtt/bridge.py BROKER[:PORT] FOLDER --query queries/mqtt.rq

needs `pip install paho-mqtt`. docs/cases/mqtt.md has its rule for each message. A password is read from MQTT_PASSWORD.
"""

import argparse
import json
import logging
import math
import os
import re
import signal
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from threading import Event
from typing import Any

import paho.mqtt.client as mqtt
from paho.mqtt.enums import CallbackAPIVersion

from cedilla import compile_query
from cedilla.grammar import Diagnostic, DiagnosticError
from cedilla.grammar.parser import parse_accent
from cedilla.grammar.syntax import AccentText, Comparison, Condition, Literal, SetUnit
from cedilla.produce import Stream

LOG = logging.getLogger("bridge")
LONG = {
    "cmps": "components",
    "dev": "device",
    "dev_cla": "device_class",
    "p": "platform",
    "stat_t": "state_topic",
    "sw": "sw_version",
    "uniq_id": "unique_id",
    "unit_of_meas": "unit_of_measurement",
    "val_tpl": "value_template",
}
"""The short names of the options that the bridge reads."""
NO_VALUE = {"", "none", "unavailable", "unknown"}
"""The texts that a sensor reports while it has no value."""
_TEMPLATE = re.compile(r"""\{\{\s*value(?P<path>_json(?:\.\w+|\['[^']+'\]|\["[^"]+"\])+)?\s*\}\}""")
_STEP = re.compile(r"""\.(\w+)|\['([^']+)'\]|\["([^"]+)"\]""")
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")


class Unfit(Exception):
    """The reason for which a message is set aside."""


@dataclass(frozen=True)
class Sensor:
    """A sensor as its device announces it. `path`: the fields that lead to its value; none if it is the message."""

    name: str
    attribute: str
    unit: str | None
    topic: str
    path: tuple[str, ...]
    sw_version: str | None

    def value(self, message: str) -> int | float | None:
        """The number in a message; None if it has none. Raises `Unfit` for anything else."""
        value: Any = message
        if self.path:
            try:
                value = json.loads(message)
            except ValueError:
                raise Unfit("the message is not JSON") from None
            for step in self.path:
                value = value.get(step) if isinstance(value, dict) else None
        if isinstance(value, str):
            value = value.strip()
            if value.lower() in NO_VALUE:
                return None
            if _NUMBER.fullmatch(value):
                value = int(value) if value.lstrip("+-").isdigit() else float(value)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
            raise Unfit(f"{json.dumps(value)} is not a number")
        return value


def announcements(identity: str, message: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yields the sensors that a message announces: their names and options. Raises `Unfit`."""
    try:
        options = _long(json.loads(message))
    except ValueError:
        raise Unfit("the announcement is not a JSON object") from None
    components = options.pop("components", None)
    if components is None:
        yield identity, options
        return
    for key, component in components.items() if isinstance(components, dict) else ():
        own = _long(component)
        # A component that only has its platform is removed from its device.
        if own.pop("platform", None) == "sensor" and own:
            yield f"{identity} {key}", options | own


def sensor(identity: str, options: Mapping[str, Any]) -> Sensor:
    """The sensor of an announcement. Raises `Unfit`."""
    topic, base = options.get("state_topic"), options.get("~", "")
    if isinstance(topic, str):
        topic = re.sub("^~|~$", lambda _: str(base), topic)
    if not isinstance(topic, str) or not topic or set(topic) & {"+", "#"}:
        raise Unfit("the announcement has no `state_topic`")
    template = options.get("value_template") or "{{ value }}"
    match = _TEMPLATE.fullmatch(str(template).strip())
    if match is None:
        raise Unfit(f"`value_template` is more than a field: {template}")
    path = tuple(".".join(filter(None, step)) for step in _STEP.findall(match["path"] or ""))
    device = options.get("device")
    version = _long(device).get("sw_version") if isinstance(device, dict) else None
    unit = options.get("unit_of_measurement")
    return Sensor(
        str(options.get("unique_id") or identity),
        str(options["device_class"]),
        None if unit is None else str(unit),
        topic,
        path,
        None if version is None else str(version),
    )


def _long(options: Any) -> dict[str, Any]:
    if not isinstance(options, dict):
        raise Unfit("the announcement is not a JSON object")
    return {LONG.get(name, name): value for name, value in options.items()}


def units_in(folder: Path) -> dict[tuple[str, str], str]:
    """The units in force at the end of a stream, by sensor and attribute, as far as its files say."""
    units: dict[tuple[str, str], str] = {}
    for file in sorted(folder.glob("[!_]*.jsonl")):
        for line in file.read_text("utf-8").split("\n"):
            if not line.startswith('{"$accent"'):
                continue
            match parse_accent(json.loads(line)["$accent"]):
                case AccentText(
                    description=(Condition("sensor", Comparison("=", Literal(str(name)))),),
                    primitives=(SetUnit(attribute, unit),),
                ):
                    units[name, attribute] = unit
                case _:  # a person wrote it: all units are announced once more, which changes no value
                    units.clear()
    return units


class Bridge:
    """Turns messages into lines of a stream.

    `units`: the attributes of the stream, and whether each has a unit. `folder`: takes the announcements that were
    read, `_announced.jsonl`, and what is set aside, `_aside.jsonl`. `listen` and `leave` are called with the topics of
    states.
    """

    def __init__(
        self,
        stream: Stream,
        units: Mapping[str, bool],
        folder: Path,
        listen: Callable[[str], object],
        leave: Callable[[str], object],
        prefix: str = "homeassistant",
    ) -> None:
        self.counts: Counter[str] = Counter()
        self._stream, self._attributes, self._folder = stream, units, folder
        self._listen, self._leave, self._prefix = listen, leave, prefix
        self._announced = self._announced_before()
        """The last announcement of each topic, and its quality of service."""
        self._sensors: dict[str, list[Sensor]] = {}
        """The sensors by the topic that announced them."""
        self._readers: dict[str, list[Sensor]] = {}
        """The sensors by the topic of their states."""
        self._units = units_in(folder)
        self._now = datetime.min.replace(tzinfo=UTC)
        self._is_open = False
        """True: a tuple was written since the last punctuation."""
        self._reported: set[tuple[str, str]] = set()

    @property
    def topics(self) -> tuple[str, ...]:
        """The topics of announcements."""
        return tuple(
            f"{self._prefix}/{kind}/{levels}/config"
            for kind in ("sensor", "device")
            for levels in ("+", "+/+")
        )

    def connected(self, resumed: bool) -> None:
        """Takes a new connection. `resumed`: the broker kept all messages of quality 1 since the last one.

        Other sensors may have changed their unit unheard. They are read again once their announcement is there, which
        brokers retain.
        """
        kept = {topic for topic, (_, qos) in self._announced.items() if resumed and qos}
        for topic in [topic for topic in self._sensors if topic not in kept]:
            self._set(topic, [])
        for topic in sorted(kept - self._sensors.keys()):
            self._understand(topic, self._announced[topic][0])

    def take(self, topic: str, payload: bytes, qos: int, retain: bool, dup: bool, now: datetime) -> None:
        """Takes a message."""
        self._now = max(self._now, now)
        message = payload.decode("utf-8", "backslashreplace")
        if topic.startswith(f"{self._prefix}/") and topic.endswith("/config"):
            self._announce(topic, message, qos)
        elif retain:
            self.counts["retained"] += 1  # the time of its measurement is not known
        elif dup:
            self.counts["repeated"] += 1  # it may be written already, and its unit may be an earlier one
        else:
            for reader in self._readers.get(topic, ()):
                self._report(reader, topic, message)

    def flush(self) -> None:
        """Shows readers what was taken, and closes the time until then."""
        if self._is_open:
            self._stream.punctuate(f'time < "{self._now.isoformat()}"')
            self._is_open = False
        self._stream.flush()

    def _announce(self, topic: str, message: str, qos: int) -> None:
        if self._announced.get(topic) != (message, qos):
            self._announced[topic] = message, qos
            # Before the acknowledgement, after which the broker does not send it again.
            self._append("_announced.jsonl", {"topic": topic, "message": message, "qos": qos})
        elif topic in self._sensors:
            return
        self._understand(topic, message)

    def _understand(self, topic: str, message: str) -> None:
        """Reads an announcement. A sensor whose newest one is not understood is not read."""
        identity = " ".join(topic.removeprefix(f"{self._prefix}/").split("/")[1:-1])
        fit: list[Sensor] = []
        taken = {s.name for other, sensors in self._sensors.items() if other != topic for s in sensors}
        try:
            # An empty message removes its device.
            for name, options in announcements(identity, message) if message.strip() else ():
                if options.get("device_class") not in self._attributes:
                    self.counts["of other classes"] += 1
                    continue
                try:
                    new = sensor(name, options)
                    if new.name in taken:
                        raise Unfit(f"{new.name} is announced twice")
                    fit.append(self._accented(new))
                    taken.add(new.name)
                except (Unfit, DiagnosticError) as problem:
                    self._put_aside(topic, message, problem)
        except Unfit as problem:
            self._put_aside(topic, message, problem)
        self._set(topic, fit)

    def _accented(self, new: Sensor) -> Sensor:
        """Announces the unit of a sensor in the stream. Raises `Unfit` or `DiagnosticError`."""
        if new.unit is None and self._attributes[new.attribute]:
            raise Unfit("the announcement has no `unit_of_measurement`")
        key = new.name, new.attribute
        if new.unit is not None and self._units.get(key) != new.unit:
            self._stream.unit(new.attribute, new.unit, where={"sensor": new.name})
            self._units[key] = new.unit
            self.counts["accents"] += 1
        return new

    def _set(self, topic: str, sensors: list[Sensor]) -> None:
        """Replaces the sensors of an announcement, and listens to the topics of their states only."""
        before = self._readers
        self._sensors.pop(topic, None)
        if sensors:
            self._sensors[topic] = sensors
        readers: dict[str, list[Sensor]] = defaultdict(list)
        for reader in (s for of_topic in self._sensors.values() for s in of_topic):
            readers[reader.topic].append(reader)
        self._readers = dict(readers)
        for state in readers.keys() - before.keys():
            self._listen(state)
        for state in before.keys() - readers.keys():
            self._leave(state)

    def _report(self, reader: Sensor, topic: str, message: str) -> None:
        try:
            value = reader.value(message)
            if value is None:
                self.counts["without a value"] += 1
                return
            row = {"time": self._now, "sensor": reader.name, reader.attribute: value}
            if reader.sw_version is not None and "sw_version" in self._attributes:
                row["sw_version"] = reader.sw_version
            self._stream.tuple(row)
            self.counts["tuples"] += 1
            self._is_open = True
        except (Unfit, DiagnosticError) as problem:
            self._put_aside(topic, message, problem)

    def _put_aside(self, topic: str, message: str, problem: Exception) -> None:
        reason = str(problem)
        if isinstance(problem, DiagnosticError):
            reason = "; ".join(f"{d.code}: {d.message}" for d in problem.diagnostics)
        self.counts["set aside"] += 1
        line = {"time": self._now.isoformat(), "topic": topic, "reason": reason, "message": message}
        self._append("_aside.jsonl", line)
        if (topic, reason) not in self._reported:
            self._reported.add((topic, reason))
            LOG.warning("%s is set aside: %s", topic, reason)

    def _append(self, name: str, line: Mapping[str, Any]) -> None:
        with (self._folder / name).open("a", encoding="utf-8") as file:
            file.write(json.dumps(line, ensure_ascii=False) + "\n")
            file.flush()
            os.fsync(file.fileno())

    def _announced_before(self) -> dict[str, tuple[str, int]]:
        """The announcements that an earlier bridge read. Its file then has each topic once, and no half line."""
        path = self._folder / "_announced.jsonl"
        if not path.exists():
            return {}
        # A half line is of a message that was not acknowledged, so that the broker sends it again.
        lines = [json.loads(line) for line in path.read_text("utf-8").split("\n")[:-1]]
        last = {line["topic"]: line for line in lines}
        aside = path.with_suffix(".new")
        aside.write_text(
            "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in last.values()), "utf-8"
        )
        aside.rename(path)
        return {topic: (line["message"], line["qos"]) for topic, line in last.items()}


def _report_warning(diagnostic: Diagnostic) -> None:
    if diagnostic.code != "RQ230":  # the unit is the one that readers have already
        LOG.warning("%s: %s", diagnostic.code, diagnostic.message)


def run(options: argparse.Namespace, stop: Event) -> Counter[str]:
    """Runs until `stop` is set. Raises `SystemExit` if the broker refuses."""
    plan = compile_query(Path(options.query).read_text("utf-8")).plan
    source = next((s for s in plan.sources if s.name == options.source), plan.sources[0])
    units = {attribute.name: attribute.unit is not None for attribute in source.attributes}
    host, _, port = options.broker.partition(":")
    folder = Path(options.folder)
    folder.mkdir(parents=True, exist_ok=True)
    name = options.client or f"cedilla-{sha256(str(folder.resolve()).encode()).hexdigest()[:12]}"
    client = mqtt.Client(CallbackAPIVersion.VERSION2, client_id=name, clean_session=False)
    if options.user:
        client.username_pw_set(options.user, os.environ.get("MQTT_PASSWORD"))
    if options.tls:
        client.tls_set()
    refused: list[str] = []
    with Stream(folder, query=options.query, source=options.source, on_warning=_report_warning) as stream:
        bridge = Bridge(
            stream, units, folder, lambda t: client.subscribe(t, 1), client.unsubscribe, options.prefix
        )

        def on_connect(client: mqtt.Client, _: object, flags: Any, reason: Any, __: object) -> None:
            if reason.is_failure:
                refused.append(str(reason))
                stop.set()
                return
            LOG.info("connected to %s, %s", options.broker, "as before" if flags.session_present else "anew")
            bridge.connected(flags.session_present)
            for topic in bridge.topics:
                client.subscribe(topic, 1)

        def on_message(_: mqtt.Client, __: object, m: mqtt.MQTTMessage) -> None:
            bridge.take(m.topic, m.payload, m.qos, m.retain, m.dup, datetime.now(UTC))

        client.on_connect, client.on_message = on_connect, on_message
        try:
            client.connect(host, int(port or (8883 if options.tls else 1883)), keepalive=30)
        except OSError as problem:
            raise SystemExit(f"{options.broker} does not answer: {problem}") from None
        due = 0.0
        while not stop.is_set():
            if client.loop(min(1.0, options.every)) != mqtt.MQTT_ERR_SUCCESS and not stop.wait(1.0):
                LOG.info("the connection broke off")
                try:
                    client.reconnect()
                except OSError as problem:
                    LOG.info("%s does not answer: %s", options.broker, problem)
            if time.monotonic() >= due:
                bridge.flush()
                due = time.monotonic() + options.every
        bridge.flush()
        client.disconnect()
    if refused:
        raise SystemExit(f"{options.broker} refuses: {refused[0]}")
    return bridge.counts


def main() -> None:
    """Reads the arguments, and runs until SIGINT or SIGTERM."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("broker")
    parser.add_argument("folder")
    parser.add_argument("--query", required=True, help="the query that reads the folder")
    parser.add_argument("--source", help="its stream; the first one by default")
    parser.add_argument(
        "--prefix", default="homeassistant", help="what the topics of announcements begin with"
    )
    parser.add_argument("--every", type=float, default=1.0, help="seconds from one file to the next")
    parser.add_argument(
        "--client", help="the name of the bridge at the broker; made of the folder by default"
    )
    parser.add_argument("--user")
    parser.add_argument("--tls", action="store_true")
    options = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    stop = Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    try:
        counts = run(options, stop)
    except DiagnosticError as error:
        raise SystemExit(str(error)) from None
    LOG.info("; ".join(f"{name}: {count}" for name, count in sorted(counts.items())))


if __name__ == "__main__":
    main()
