"""Sets up the client of Kafka and translates its errors. No message contains a secret."""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from attrs import define, field

from cedilla.compiler.plan.topics import Topic
from cedilla.grammar.diagnostics import DiagnosticError, failure

SECONDS = 30.0
"""The time in seconds that brokers may take to answer."""
PROPERTIES = "CEDILLA_KAFKA_PROPERTIES"
"""The environment variable that names a file of properties of the client, such as TLS and SASL."""

READER = {
    "group.id": "cedilla",
    "enable.auto.commit": False,
    "enable.auto.offset.store": False,
    "enable.partition.eof": True,
    "auto.offset.reset": "error",
    "isolation.level": "read_committed",
}
"""The settings of a reader: committed records only, offsets of its own, and a message at the end of a partition."""

_OURS = frozenset(
    {
        "bootstrap.servers",
        "group.id",
        "enable.auto.commit",
        "enable.auto.offset.store",
        "enable.partition.eof",
        "auto.offset.reset",
        "isolation.level",
        "transactional.id",
        "enable.idempotence",
        "debug",
        "log_level",
        "schema.registry.url",
    }
)
"""Properties that a user may not set, because results depend on them or because they print secrets."""


def library(name: str = "confluent_kafka") -> Any:
    """Returns a module of the client. Raises `DiagnosticError` RQ442 where it is not installed."""
    try:
        return importlib.import_module(name)
    except ImportError:
        is_registry = name.endswith("schema_registry")
        what = (
            "a registry of schemas requires its client"
            if is_registry
            else "topics require the client of Kafka"
        )
        hint = f"pip install 'cedilla[{'avro' if is_registry else 'kafka'}]'"
        raise failure("RQ442", f"{what}, which is not installed", hint=hint) from None


def settings(servers: str, own: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the settings of a client: those of the user's file, and its own.

    Raises `DiagnosticError` RQ443 where the file is missing or malformed. The message contains no value.
    """
    return {**_of_brokers(), "bootstrap.servers": servers, "log_level": 0, **own}


def registry_settings() -> dict[str, str]:
    """Returns the settings of the client of a registry, as the user's file has them after `schema.registry.`.

    Raises `DiagnosticError` RQ443 as `settings` does.
    """
    return {n.removeprefix(_REGISTRY): v for n, v in _of_user().items() if n.startswith(_REGISTRY)}


def _of_brokers() -> dict[str, str]:
    return {name: value for name, value in _of_user().items() if not name.startswith(_REGISTRY)}


def _of_user() -> dict[str, str]:
    path = os.environ.get(PROPERTIES)
    if not path:
        return {}
    try:
        lines = Path(path).read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as problem:
        reason = problem.strerror if isinstance(problem, OSError) else "it is not UTF-8"
        raise failure("RQ443", f"{PROPERTIES}: {path} cannot be read: {reason}", hint=_FORM) from None
    properties: dict[str, str] = {}
    for number, line in enumerate(lines, 1):
        text = line.strip()
        if not text or text.startswith("#"):
            continue
        name, equal, value = (part.strip() for part in text.partition("="))
        if not (name and equal) or name in _OURS:
            why = f"`{name}` is Cedilla's own" if equal and name else "it is not of the form NAME=VALUE"
            raise failure("RQ443", f"{PROPERTIES}: {path}:{number}: {why}", hint=_FORM)
        properties[name] = value
    return properties


_REGISTRY = "schema.registry."
_FORM = "lines `NAME=VALUE` with properties of librdkafka: `security.protocol`, `sasl.username`, `ssl.ca.location`"


def made(kind: str, servers: str, own: Mapping[str, Any], module: str = "confluent_kafka") -> Any:
    """Returns a client of a kind (`Consumer`, `Producer`, `AdminClient`). Raises `DiagnosticError`: RQ442, RQ443."""
    client_module = library(module)
    try:
        return getattr(client_module, kind)(settings(servers, own))
    except library().KafkaException as problem:
        # The library's message may contain the value: ours has the name only.
        names = [name for name in _of_brokers() if f'"{name}"' in str(problem)]
        what = (
            f"`{names[0]}` is not a property, or its value is not valid"
            if names
            else "the properties do not go together"
        )
        raise failure("RQ443", f"the client of Kafka cannot be set up: {what}", hint=_FORM) from None


def partitions_of(client: Any, topic: Topic, use: str, seconds: float = SECONDS) -> int:
    """Returns the number of partitions of a topic. `use` ends the message "..., which {use}".

    Raises `DiagnosticError`: RQ444, RQ445 if the topic does not exist.
    """
    listed = asked(topic.servers, lambda: client.list_topics(topic.name, timeout=seconds))
    of_topic = listed.topics[topic.name]
    if of_topic.error is not None:
        raise missing(topic, use, of_topic.error)
    return len(of_topic.partitions)


def missing(topic: Topic, use: str, error: Any) -> DiagnosticError:
    """Returns RQ445 for the error of a missing topic, RQ444 for others."""
    if error.code() != library().KafkaError.UNKNOWN_TOPIC_OR_PART:
        return refused(topic.servers, library().KafkaException(error))
    message = f"{topic.servers} has no topic `{topic.name}`, which {use}"
    hint = "a topic without records is fine; `--source NAME=HOST:PORT/TOPIC` and `--sink` name another"
    return failure("RQ445", message, hint=hint)


@define(eq=False)
class TopicState:
    """Asks the brokers about a topic, apart from its records, by one client that is made at the first question.

    `use` ends the message "..., which {use}" for a topic that does not exist (RQ445).
    """

    topic: Topic
    use: str
    seconds: float = SECONDS
    _client: Any = field(init=False, default=None)

    def identity(self) -> str:
        """Returns the id of the topic, which another topic of the same name does not have.

        Raises `DiagnosticError`: RQ442, RQ443, RQ444, RQ445 if the topic does not exist.
        """
        topics = library().TopicCollection([self.topic.name])
        try:
            answers = self._admin.describe_topics(topics, request_timeout=self.seconds)
            return str(self._only(answers).topic_id)
        except library().KafkaException as problem:
            raise missing(self.topic, self.use, problem.args[0]) from None

    def is_compacted(self) -> bool | None:
        """Returns True if the brokers delete older records of a key; `None` if the account may not ask.

        Raises `DiagnosticError` as `identity` does.
        """
        admin = library("confluent_kafka.admin")
        resource = admin.ConfigResource(admin.ConfigResource.Type.TOPIC, self.topic.name)
        try:
            answers = self._admin.describe_configs([resource], request_timeout=self.seconds)
            policy = self._only(answers)["cleanup.policy"].value
        except library().KafkaException as problem:
            if problem.args[0].code() == library().KafkaError.TOPIC_AUTHORIZATION_FAILED:
                return None
            raise missing(self.topic, self.use, problem.args[0]) from None
        return "compact" in policy.split(",")

    def _only(self, answers: Mapping[Any, Any]) -> Any:
        """Returns the answer to a question. The client ends it in time; to wait for less hides its error."""
        (answer,) = answers.values()
        return answer.result(2 * self.seconds)

    @property
    def _admin(self) -> Any:
        if self._client is None:
            self._client = made("AdminClient", self.topic.servers, {}, "confluent_kafka.admin")
        return self._client


def compacted(topic: Topic, why: str, hint: str) -> DiagnosticError:
    """Returns RQ504 for a topic with compaction. `why`: the reason that it cannot be used."""
    message = f"`{topic.name}` is compacted by its brokers (`cleanup.policy`): {why}"
    return failure("RQ504", message, hint=f"{hint}a topic with `cleanup.policy=delete`")


def asked(servers: str, ask: Callable[[], Any]) -> Any:
    """Returns the result of a request to brokers. Raises `DiagnosticError` RQ444 where they refuse it."""
    try:
        return ask()
    except library().KafkaException as problem:
        raise refused(servers, problem) from None


def refused(servers: str, problem: Exception) -> DiagnosticError:
    """Returns RQ444 for a refusal by the brokers or the network."""
    error: Any = problem.args[0] if problem.args else None
    reason = error.str() if hasattr(error, "str") else str(problem)
    hint = (
        f"check the brokers' address and state; their other requirements belong into the file of {PROPERTIES}"
    )
    return failure("RQ444", f"{servers}: {reason}", hint=hint)
