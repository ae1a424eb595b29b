"""Two pumps that report their flow to the topic `readings`, and change the unit of it one after the other.

    python producer.py BROKER [--change SECONDS] [--every SECONDS] [--ticks N]

Each change is announced by an accent. The topics are created if the broker does not have them.
"""

import argparse
import math
import time
from datetime import UTC, datetime
from itertools import count, islice
from pathlib import Path

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient, NewTopic

from cedilla.produce import Stream

QUERY = Path(__file__).with_name("pumps.rq")
PATIENCE = 60.0
"""Seconds until the broker must have answered."""
PER_LITRE = {"L": 1.0, "m3": 0.001}


def create_topics(broker: str) -> None:
    """Creates the topics that are missing. Raises `KafkaException` if the broker does not answer."""
    admin = AdminClient({"bootstrap.servers": broker, "log_level": 0})
    present = admin.list_topics(timeout=PATIENCE).topics
    missing = [NewTopic(name, 1, 1) for name in ("readings", "flow") if name not in present]
    for created in (admin.create_topics(missing) if missing else {}).values():
        created.result(PATIENCE)


def flow(pump: int, now: float) -> float:
    """The true flow of a pump, in litres: a slow wave."""
    return 80.0 + 40.0 * pump + 10.0 * math.sin(now / 20.0)


def report(broker: str, change: float, every: float, ticks: int | None) -> None:
    """Sends a tuple of each pump at each tick; after `change` seconds the next pump changes its unit."""
    units = {1: "L", 2: "L"}
    with Stream(f"{broker}/readings", query=QUERY, source="readings") as stream:
        for pump, unit in units.items():  # the topic may be that of an earlier start
            stream.unit("litres", unit, where={"pump": pump})
        begin, changes = time.time(), 0
        for _ in islice(count(), ticks):
            now = time.time()
            if now - begin > change * (changes + 1):
                pump = 1 + changes % 2
                units[pump] = "m3" if units[pump] == "L" else "L"
                stream.unit("litres", units[pump], where={"pump": pump})
                print(f"pump {pump} sends {units[pump]} from now on", flush=True)
                changes += 1
            for pump, unit in units.items():
                litres = flow(pump, now) * PER_LITRE[unit]
                stream.tuple(at=datetime.fromtimestamp(now, UTC), pump=pump, litres=litres)
            stream.flush()
            time.sleep(every)


def main() -> None:
    """Reads the arguments, and reports."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("broker")
    parser.add_argument("--only-topics", action="store_true", help="create the topics, and end")
    parser.add_argument("--change", type=float, default=30.0, help="seconds from one change to the next")
    parser.add_argument("--every", type=float, default=0.5, help="seconds from one tick to the next")
    parser.add_argument("--ticks", type=int, help="end after so many ticks")
    options = parser.parse_args()
    try:
        create_topics(options.broker)
    except KafkaException as problem:
        raise SystemExit(f"{options.broker} does not answer: {problem}") from None
    if not options.only_topics:
        report(options.broker, options.change, options.every, options.ticks)


if __name__ == "__main__":
    main()
