"""The bridge of `queries/mqtt`: announcements of Home Assistant become accents, states tuples, in one right order."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import paho.mqtt.client as mqtt
import pytest
from paho.mqtt.enums import CallbackAPIVersion

from cedilla.produce import Stream
from queries.mqtt.bridge import Bridge, Unfit, announcements, sensor
from tests.kit import ROOT
from tests.kit.mqtt import PASSWORD, USER, Mosquitto
from tests.kit.query import Query
from tests.kit.stream import Item
from tests.kit.tiers import tiered

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

QUERY = ROOT / "queries" / "mqtt.rq"
MESSAGES = ROOT / "queries" / "mqtt" / "messages.jsonl"
NOON = datetime(2026, 3, 30, 12, tzinfo=UTC)
PAGE = ROOT / "docs" / "cases" / "mqtt.md"


class House:
    """A bridge without a broker, on a folder."""

    def __init__(self, folder: Path, query: Path | str = QUERY) -> None:
        folder.mkdir(exist_ok=True)
        self.folder, self.now = folder, NOON
        self.topics: set[str] = set()
        self.stream = Stream(folder, query=query, on_warning=lambda _: None)
        units = {"time": False, "sensor": False, "sw_version": False, "power": True, "temperature": True}
        self.bridge = Bridge(self.stream, units, folder, self.topics.add, self.topics.discard)

    def take(
        self,
        topic: str,
        message: Any,
        qos: int = 1,
        retain: bool = False,
        dup: bool = False,
        seconds: float = 1,
    ) -> None:
        self.now += timedelta(seconds=seconds)
        text = message if isinstance(message, str) else json.dumps(message)
        self.bridge.take(topic, text.encode(), qos, retain, dup, self.now)

    def announce(self, name: str, qos: int = 1, **more: Any) -> None:
        """An announcement of a sensor of power, in W; `None` takes an option out of it."""
        options = {
            "unique_id": name,
            "device_class": "power",
            "unit_of_measurement": "W",
            "state_topic": f"home/{name}",
        } | more
        message = {option: value for option, value in options.items() if value is not None}
        self.take(f"homeassistant/sensor/{name}/config", message, qos, True)

    def kill(self) -> None:
        """Ends the bridge as a loss of its process does: what was not flushed is gone."""
        self.stream._on_targets("abandon")

    @property
    def aside(self) -> list[str]:
        """The reasons for which messages are set aside."""
        return [line["reason"] for line in lines([self.folder / "_aside.jsonl"])]

    @property
    def items(self) -> list[Item]:
        """The lines that readers see."""
        self.bridge.flush()
        return lines(sorted(self.folder.glob("[!_]*.jsonl")))

    @property
    def watts(self) -> list[float]:
        return watts(self.items)


def lines(files: Iterable[Path]) -> list[Item]:
    return [json.loads(line) for file in files if file.exists() for line in file.read_text().splitlines()]


def watts(items: Iterable[Item]) -> list[float]:
    """The powers of a stream in W, by its accents: an oracle that shares nothing with the product."""
    units: dict[str, str] = {}
    result: list[float] = []
    for item in items:
        accent = re.fullmatch(r'\[\[sensor = "(.*)", unit\(power, (\w+)\)\]\]', item.get("$accent", ""))
        if accent is not None:
            units[accent[1]] = accent[2]
        elif "power" in item:
            result.append(round(item["power"] * {"W": 1, "kW": 1000}[units[item["sensor"]]], 6))
    return result


@pytest.fixture
def house(tmp_path: Path) -> House:
    return House(tmp_path / "house")


# --- the case of the page ---


def test_the_messages_of_the_page_become_its_data(tmp_path: Path) -> None:
    house = House(tmp_path)
    for line in lines([MESSAGES]):
        now = datetime.fromisoformat(line["time"])
        house.bridge.take(line["topic"], line["message"].encode(), 1, line["retain"], False, now)
    shipped = lines([ROOT / "queries" / "mqtt" / "data" / "house.jsonl"])
    assert [*house.items, {"$punctuation": "[]"}] == shipped
    assert house.aside == []
    assert house.bridge.counts == {"accents": 4, "tuples": 9, "retained": 1, "without a value": 1}
    page = PAGE.read_text("utf-8")
    assert re.findall(r"^```json\n(.*?)```", page, re.DOTALL | re.MULTILINE) == [
        "".join(json.dumps(item, ensure_ascii=False) + "\n" for item in shipped[7:12])
    ]


@pytest.mark.either_engine
def test_means_hold_while_units_change_that_nobody_announces_by_hand(
    spark: SparkSession, tmp_path: Path
) -> None:
    run = Query(spark, tmp_path, QUERY.read_text("utf-8"))
    items = lines([ROOT / "queries" / "mqtt" / "data" / "house.jsonl"])
    run.write_parts("house", items, 4)
    run.process(files_per_epoch=1)
    means = {
        (row["sensor"], row["hour"][11:13]): row.get("power", row.get("temperature"))
        for row in run.rows("means")
    }
    assert means == {
        ("porch_temperature", "10"): 12.5,
        ("porch_temperature", "11"): 19.0,
        ("washer_power", "10"): 600.0,
        ("washer_power", "11"): 1200.0,
        ("washer_power", "12"): 3.0,
    }


# --- values ---


@pytest.mark.parametrize(
    ("template", "message", "value"),
    [
        (None, "1200.5", 1200.5),
        (None, " 12 ", 12),
        (None, "-5", -5),
        (None, "+.5e2", 50.0),
        ("{{ value }}", "7.", 7.0),
        ("{{value_json.power}}", '{"power": 3}', 3),
        ("{{ value_json.a.b_2 }}", '{"a": {"b_2": 3.5}}', 3.5),
        ("{{ value_json['ENERGY'].Power }}", '{"ENERGY": {"Power": "3.5"}}', 3.5),
        ('{{ value_json["a b"] }}', '{"a b": 0}', 0),
        ("{{ value_json.power }}", '{"battery": 90}', None),
        ("{{ value_json.power }}", '{"power": null}', None),
        ("{{ value_json.a.b }}", '{"a": 5}', None),
        ("{{ value_json.power }}", "[1]", None),
        *((None, word, None) for word in ("unavailable", "Unknown", "None", "", " ")),
        (None, "on", Unfit),
        (None, "1,5", Unfit),
        (None, "1_0", Unfit),
        (None, "NaN", Unfit),
        (None, "0x10", Unfit),
        ("{{ value_json.power }}", "12", None),
        ("{{ value_json.power }}", "unavailable", Unfit),
        ("{{ value_json.power }}", '{"power": true}', Unfit),
        ("{{ value_json.power }}", '{"power": NaN}', Unfit),
        ("{{ value_json.power }}", '{"power": [1]}', Unfit),
    ],
)
def test_a_message_has_a_number_no_value_or_is_set_aside(
    template: str | None, message: str, value: Any
) -> None:
    options = {"device_class": "power", "state_topic": "t"} | (
        {"value_template": template} if template else {}
    )
    reader = sensor("s", options)
    if value is Unfit:
        with pytest.raises(Unfit):
            reader.value(message)
    else:
        actual = reader.value(message)
        assert (actual, type(actual)) == (value, type(value))


def test_a_state_that_is_no_number_is_set_aside_and_the_next_is_read(house: House) -> None:
    house.announce("a")
    for message in ("5", "on", "unavailable", "on", "6"):
        house.take("home/a", message)
    assert house.watts == [5, 6]
    assert house.aside == ['"on" is not a number'] * 2
    assert house.bridge.counts["without a value"] == 1


def test_a_message_that_is_not_utf_8_is_set_aside_with_its_bytes(house: House) -> None:
    house.announce("a")
    house.bridge.take("home/a", b"\xff5", 0, False, False, house.now)
    assert lines([house.folder / "_aside.jsonl"])[0]["message"] == r"\xff5"


# --- announcements ---


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"unit_of_measurement": "furlong/W"}, "RQ142"),
        ({"unit_of_measurement": "wat"}, "RQ143"),
        ({"unit_of_measurement": "°C"}, "RQ142"),
        ({"unit_of_measurement": None}, "no `unit_of_measurement`"),
        ({"state_topic": None}, "no `state_topic`"),
        ({"state_topic": "home/+"}, "no `state_topic`"),
        ({"state_topic": 5}, "no `state_topic`"),
        ({"value_template": "{{ value_json.power | float * 10 }}"}, "more than a field"),
        ({"value_template": "{% if value %}1{% endif %}"}, "more than a field"),
    ],
)
def test_a_sensor_is_not_read_while_its_announcement_is_not_understood(
    house: House, options: dict[str, Any], reason: str
) -> None:
    house.announce("a")
    house.take("home/a", "5")
    house.announce("a", **options)
    assert house.topics == set()
    house.take("home/a", "6")
    house.announce("a", unit_of_measurement="kW")
    house.take("home/a", "0.007")
    assert house.watts == [5, 7]
    assert len(house.aside) == 1
    assert reason in house.aside[0]


@pytest.mark.parametrize("message", ["no JSON", "[1]", "5", '{"device": '])
def test_an_announcement_that_is_not_an_object_is_set_aside(house: House, message: str) -> None:
    house.announce("a")
    house.take("homeassistant/sensor/a/config", message)
    assert house.aside == ["the announcement is not a JSON object"]
    assert house.topics == set()


def test_an_empty_announcement_ends_a_sensor_and_closes_nothing(house: House) -> None:
    """The device may come back, as devices do that are announced anew."""
    house.announce("a")
    house.take("home/a", "5")
    house.take("homeassistant/sensor/a/config", "")
    assert house.topics == set()
    house.take("home/a", "6")
    house.announce("a", unit_of_measurement="kW")
    house.take("home/a", "0.007")
    assert house.watts == [5, 7]
    assert house.aside == []


def test_other_classes_are_left_out_and_availability_is_not_heard(house: House) -> None:
    house.announce("a", availability_topic="home/a/status", availability=[{"topic": "home/a/lwt"}])
    house.announce("b", device_class="battery")
    house.announce("c", device_class=None)
    assert house.topics == {"home/a"}
    house.take("home/a/status", "offline")
    house.take("home/a", "5")
    assert house.watts == [5]
    assert house.bridge.counts["of other classes"] == 2


def test_an_announcement_without_a_change_writes_no_accent(house: House) -> None:
    for version in ("1.0", "1.0", "1.1"):
        house.announce("a", device={"sw_version": version})
        house.take("home/a", "5")
    assert [item for item in house.items if "$accent" in item] == [
        {"$accent": '[[sensor = "a", unit(power, W)]]'}
    ]
    assert [item["sw_version"] for item in house.items if "power" in item] == ["1.0", "1.0", "1.1"]


def test_a_change_of_unit_never_stops_listening(house: House) -> None:
    """A state that comes while a topic is left and taken again would be lost."""
    house.announce("a")
    house.bridge._leave = house.bridge._listen = pytest.fail
    house.announce("a", unit_of_measurement="kW")
    house.take("home/a", "0.005")
    assert house.watts == [5]


def test_two_announcements_of_one_sensor_are_not_mixed(house: House) -> None:
    house.announce("a")
    house.take("homeassistant/sensor/other/config", {
        "unique_id": "a", "device_class": "power", "unit_of_measurement": "kW", "stat_t": "x"
    })  # fmt: skip
    assert house.aside == ["a is announced twice"]
    assert house.topics == {"home/a"}


def test_sensors_of_one_message_are_read_from_it_each(house: House) -> None:
    house.announce("a", state_topic="plug", value_template="{{ value_json.power }}")
    house.announce(
        "b",
        state_topic="plug",
        value_template="{{ value_json.t }}",
        device_class="temperature",
        unit_of_measurement="°F",
    )
    house.take("plug", {"power": 5, "t": 68.0})
    house.announce("b", device_class="battery")
    assert house.topics == {"plug"}
    tuples = [item for item in house.items if "sensor" in item]
    assert [(item["sensor"], item.get("power"), item.get("temperature")) for item in tuples] == [
        ("a", 5, None),
        ("b", None, 68.0),
    ]


COMPONENT = {"p": "sensor", "val_tpl": "{{ value_json.p }}"}


def test_short_names_a_base_and_the_announcement_of_a_whole_device(house: House) -> None:
    device = {
        "~": "plug/1",
        "dev": {"ids": "1", "sw": 20250101},
        "stat_t": "~/state",
        "cmps": {
            "p": COMPONENT | {"dev_cla": "power", "unit_of_meas": "W", "uniq_id": "1_p"},
            "t": COMPONENT | {"dev_cla": "temperature", "unit_of_meas": "°F", "stat_t": "t/~"},
            "s": {"p": "switch", "cmd_t": "~/set"},
            "old": {"p": "sensor"},
            "bad": {"p": "sensor", "dev_cla": "power", "unit_of_meas": "wat"},
        },
    }  # fmt: skip
    house.take("homeassistant/device/plug/1/config", device)
    assert house.topics == {"plug/1/state", "t/plug/1"}
    assert [reason.partition(":")[0] for reason in house.aside] == ["RQ143"]
    house.take("plug/1/state", {"p": 5})
    assert next(item for item in house.items if "sensor" in item)["sw_version"] == "20250101"
    device["cmps"]["p"] = {"p": "sensor"}
    house.take("homeassistant/device/plug/1/config", device)
    assert house.topics == {"t/plug/1"}
    assert dict(announcements("x", '{"cmps": [1]}')) == {}


UNITS = {  # of device classes, as Home Assistant 2026.2 takes them, `_` for a blank; each with the unit of a query
    "absolute_humidity": ("g/m³", "g/m³ mg/m³"),
    "apparent_power": ("VA", "mVA VA kVA"),
    "area": ("m²", "mm² cm² m² km² in² ft² yd² mi² ac ha"),
    "blood_glucose_concentration": ("mg/dL", "mg/dL mmol/L"),
    "carbon_monoxide": ("ppm", "ppm ppb"),
    "conductivity": ("S/cm", "S/cm mS/cm μS/cm"),
    "current": ("A", "A mA"),
    "data_rate": ("bit/s", "bit/s kbit/s Mbit/s Gbit/s B/s kB/s MB/s GB/s KiB/s MiB/s GiB/s"),
    "data_size": ("B", "bit kbit Mbit Gbit B kB MB GB TB PB EB ZB YB KiB MiB GiB TiB PiB EiB ZiB YiB"),
    "distance": ("m", "km m cm mm mi nmi yd in ft"),
    "duration": ("s", "d h min s ms μs"),
    "energy": ("Wh", "J kJ MJ GJ mWh Wh kWh MWh GWh TWh cal kcal Mcal Gcal"),
    "energy_distance": ("kWh/km", "kWh/100km Wh/km mi/kWh km/kWh"),
    "frequency": ("Hz", "Hz kHz MHz GHz"),
    "gas": ("m³", "L m³ ft³ CCF MCF"),
    "humidity": ("%", "%"),
    "illuminance": ("lx", "lx"),
    "irradiance": ("W/m²", "W/m² BTU/(h⋅ft²)"),
    "pm25": ("μg/m³", "μg/m³"),
    "power": ("W", "mW W kW MW GW TW"),
    "precipitation": ("mm", "cm in mm"),
    "precipitation_intensity": ("mm/h", "in/d in/h mm/d mm/h"),
    "pressure": ("hPa", "mPa Pa hPa kPa bar cbar mbar mmHg inHg psi inH₂O"),
    "reactive_energy": ("varh", "varh kvarh"),
    "reactive_power": ("var", "mvar var kvar"),
    "signal_strength": ("mW", "dBm dB"),
    "sound_pressure": ("Pa", "dB dBA"),
    "temperature": ("°C", "°C °F K"),
    "voltage": ("V", "μV mV V kV MV"),
    "volume": ("L", "L mL gal fl._oz. m³ ft³ CCF MCF"),
    "volume_flow_rate": ("L/min", "m³/h m³/min m³/s ft³/min L/h L/min L/s gal/d gal/h gal/min mL/s"),
    "weight": ("kg", "kg g mg μg oz lb st"),
    "wind_direction": ("°", "°"),
    "wind_speed": ("m/s", "ft/s km/h kn m/s mph in/s m/min mm/s Beaufort"),
}


def test_the_page_names_the_units_that_are_not_read(tmp_path: Path) -> None:
    """A sensor in one of them is set aside with the reason, and not read in another unit."""
    refused: list[str] = []
    for name, (unit, units) in UNITS.items():
        declared = f'time: timestamp, sensor: string, {name}: double unit "{unit}"'
        house = House(tmp_path / name, f'stream r({declared}) from json "r";\nemit r to json "o";')
        house.bridge._attributes = {name: True}
        for number, measured in enumerate(text.replace("_", " ") for text in units.split()):
            house.announce(f"s{number}", device_class=name, unit_of_measurement=measured)
            if f"home/s{number}" not in house.topics:
                refused.append(f"`{measured}` ({name})")
        house.kill()
    (listed,) = re.findall(r"^Units that are not read: (.*)\.$", PAGE.read_text("utf-8"), re.MULTILINE)
    assert listed.split(", ") == refused


def test_a_query_can_define_units_that_are_not_read(tmp_path: Path) -> None:
    """With the definitions of the page."""
    defined = re.findall(r"`(unit [^`]*;)`", PAGE.read_text("utf-8"))
    assert len(defined) == 2
    declared = "time: timestamp, sensor: string, weight?: double unit kg, volume?: double unit L"
    query = "\n".join([*defined, f'stream r({declared}) from json "r";', 'emit r to json "o";'])
    house = House(tmp_path / "house", query)
    house.bridge._attributes = {"weight": True, "volume": True}
    house.announce("a", device_class="weight", unit_of_measurement="st")
    house.announce("b", device_class="volume", unit_of_measurement="fl. oz.")
    assert house.topics == {"home/a", "home/b"}
    assert house.aside == []


# --- retained messages, repeated ones, connections ---


def test_a_retained_state_and_a_repeated_one_are_no_tuples(house: House) -> None:
    house.announce("a")
    house.take("home/a", "4", retain=True)
    house.take("home/a", "5")
    house.take("home/a", "5", dup=True)
    assert house.watts == [5]
    assert (house.bridge.counts["retained"], house.bridge.counts["repeated"]) == (1, 1)


def test_a_new_session_reads_no_state_before_its_announcement(house: House) -> None:
    house.announce("a")
    house.bridge.connected(resumed=False)
    house.take("home/a", "5")
    house.announce("a", unit_of_measurement="kW")
    house.take("home/a", "0.006")
    assert house.watts == [6]


def test_a_resumed_session_reads_on_where_announcements_are_kept(house: House) -> None:
    """Of quality 0 none is kept, so that a change may be unheard."""
    house.announce("a", qos=1)
    house.announce("b", qos=0)
    house.bridge.connected(resumed=True)
    assert house.topics == {"home/a"}
    house.take("home/a", "5")
    house.take("home/b", "6")
    house.announce("b", unit_of_measurement="kW", qos=0)
    house.take("home/b", "0.007")
    assert house.watts == [5, 7]


def test_a_new_bridge_reads_on_with_what_was_announced(tmp_path: Path) -> None:
    house = House(tmp_path / "house")
    house.announce("a", unit_of_measurement="kW")
    house.announce("b", qos=0)
    house.announce("c")
    house.take("homeassistant/sensor/c/config", "")
    house.take("home/a", "0.005")
    assert house.watts == [5]
    house.stream.close()
    with (house.folder / "_announced.jsonl").open("a") as file:
        file.write('{"topic": "homeassistant/sensor/a/con')  # amid a line the process ended
    again = House(tmp_path / "house")
    again.now = house.now
    again.bridge.connected(resumed=True)
    assert again.topics == {"home/a"}
    again.take("home/a", "0.006")
    again.announce("a", unit_of_measurement="W")
    again.take("home/a", "7")
    assert again.watts == [5, 6, 7]
    assert [item["$accent"] for item in again.items if "$accent" in item] == [
        f'[[sensor = "{name}", unit(power, {unit})]]'
        for name, unit in (("a", "kW"), ("b", "W"), ("c", "W"), ("a", "W"))
    ]
    assert len(lines([house.folder / "_announced.jsonl"])) == 4


def test_units_are_announced_again_where_the_files_do_not_say_them(tmp_path: Path) -> None:
    """Files that a query has read may be gone, and a person may have written another accent."""
    house = House(tmp_path / "house")
    house.announce("a", unit_of_measurement="kW")
    house.take("home/a", "0.005")
    house.bridge.flush()
    house.stream.marker("[[unit(power, W)]]")
    house.stream.close()
    again = House(tmp_path / "house")
    again.bridge.connected(resumed=True)
    assert [item["$accent"] for item in again.items if "$accent" in item][1:] == [
        "[[unit(power, W)]]",
        '[[sensor = "a", unit(power, kW)]]',
    ]
    again.stream.close()
    for file in again.folder.glob("[!_]*"):
        file.unlink()
    third = House(tmp_path / "house")
    third.bridge.connected(resumed=True)
    assert third.items == [{"$accent": '[[sensor = "a", unit(power, kW)]]'}]


def test_an_accent_that_comes_twice_changes_no_output(tmp_path: Path) -> None:
    """A bridge repeats units if their lines are gone from its folder: no value and no announcement changes."""
    source = (
        'stream r(time: timestamp, sensor: string, power?: double unit W) from json "r" punctuated on time;\n'
    )
    hours = "h := aggregate[avg(power) as p by sensor, h](window[1 hour on time as h](r));\n"
    query = f'{source}{hours}emit r to json "r"; emit h to json "h";'
    accent = {"$accent": '[[sensor = "a", unit(power, kW)]]'}
    at = [f"2026-03-30T12:{minute:02}:00Z" for minute in range(0, 60, 10)]
    before = [
        {"time": at[0], "sensor": "a", "power": 5.0},
        accent,
        {"time": at[1], "sensor": "a", "power": 0.006},
    ]
    after = [{"time": at[2], "sensor": "a", "power": 0.007}, {"$punctuation": "[]"}]
    results: list[tuple[list[Item], list[Item]]] = []
    for name, items in {"once": [*before, *after], "twice": [*before, accent, *after]}.items():
        run = Query.without_engine(tmp_path / name, query)
        run.write("r", items)
        simulated = run.simulate()
        results.append((simulated.output("r"), simulated.output("h")))
    assert results[0] == results[1]
    assert results[0][1]


def test_time_does_not_run_back(house: House) -> None:
    house.announce("a")
    house.take("home/a", "5")
    house.bridge.flush()
    house.take("home/a", "6", seconds=-3600)
    assert house.watts == [5, 6]
    times = [item["time"] for item in house.items if "power" in item]
    assert times[0] == times[1]


class Network:
    """A broker with one session, and a device that changes its unit: what MQTT promises, and no more.

    Messages of quality 1 come in order. Those without an acknowledgement come again after a new connection, marked as
    repeated. Each state is another number of watts, so that a wrong unit or a doubled message is seen.
    """

    def __init__(self, seed: int, folder: Path) -> None:
        self.random, self.folder = Random(seed), folder
        self.queue: list[tuple[str, str, bool]] = []
        self.unit, self.number, self.connected = "W", 0, False
        self.subscribed: set[str] = set()
        self.house = self.started()

    def started(self) -> House:
        house = House(self.folder)
        house.now = NOON + timedelta(days=self.number)
        return house

    def device(self) -> None:
        if not self.number or self.random.random() < 0.15:
            self.unit = self.random.choice(["W", "kW"])
            if CONFIG in self.subscribed:
                self.queue.append((CONFIG, json.dumps(OPTIONS | {"unit_of_measurement": self.unit}), False))
        self.number += 1
        value = self.number if self.unit == "W" else self.number / 1000
        if "home/a" in self.subscribed:
            self.queue.append(("home/a", str(value), False))

    def connect(self) -> None:
        self.house.bridge.connected(resumed=bool(self.subscribed))
        self.subscribed |= self.house.topics | {CONFIG}
        if self.number:  # the retained announcement, after what waits
            self.queue.append((CONFIG, json.dumps(OPTIONS | {"unit_of_measurement": self.unit}), False))
        self.connected = True

    def deliver(self) -> None:
        """Delivers a part of what waits; of that a part is acknowledged."""
        count = self.random.randint(0, len(self.queue))
        acknowledged = (
            count if self.connected and self.random.random() < 0.7 else self.random.randint(0, count)
        )
        for topic, message, dup in self.queue[:count]:
            self.house.take(topic, message, dup=dup)
            self.subscribed |= self.house.topics
        again = [(topic, message, True) for topic, message, _ in self.queue[acknowledged:count]]
        if again:
            self.connected = False  # a lost acknowledgement is a lost connection
        self.queue[:count] = again

    def step(self) -> None:
        what = self.random.random()
        if what < 0.5:
            self.device()
        elif what < 0.6:
            self.house.bridge.flush()
        elif what < 0.66:
            self.house.kill()
            self.house, self.connected = self.started(), False
        elif what < 0.69:  # the broker loses the session
            self.queue.clear()
            self.subscribed.clear()
            self.connected = False
        elif not self.connected:
            self.connect()
        else:
            self.deliver()


CONFIG = "homeassistant/sensor/a/config"
OPTIONS = {"unique_id": "a", "device_class": "power", "state_topic": "home/a"}


@pytest.mark.parametrize("seed", tiered(range(20), 3))
def test_no_crash_and_no_lost_acknowledgement_gives_a_wrong_unit_or_a_double(
    seed: int, tmp_path: Path
) -> None:
    network = Network(seed, tmp_path / "house")
    for _ in range(150):
        network.step()
    values = network.house.watts
    assert values == sorted(set(values))
    assert set(values) <= set(range(1, network.number + 1))
    assert values
    assert network.house.aside == []
    accents = [item["$accent"] for item in network.house.items if "$accent" in item]
    assert all(one != other for one, other in pairwise(accents))


# --- a broker ---


@pytest.fixture
def mosquitto(tmp_path: Path) -> Iterator[Mosquitto]:
    from tests.kit.mqtt import broker, install

    try:
        install()
    except OSError as problem:
        pytest.skip(str(problem))
    (tmp_path / "broker").mkdir()
    with broker(tmp_path / "broker") as started:
        yield started


class Process:
    """A bridge as a process of its own."""

    def __init__(self, address: str, folder: Path, password: str = PASSWORD) -> None:
        self.folder, self.log = folder, folder.with_suffix(".log")
        options = ("--query", str(QUERY), "--every", "0.1", "--client", "house", "--user", USER)
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [
                    sys.executable,
                    str(ROOT / "queries" / "mqtt" / "bridge.py"),
                    address,
                    str(folder),
                    *options,
                ],
                stdout=log,
                stderr=subprocess.STDOUT,
                env={**os.environ, "MQTT_PASSWORD": password},
            )

    def until(self, count: int) -> list[float]:
        """Waits for so many tuples, and returns their powers in W."""
        end = time.monotonic() + 60
        while len(values := watts(self.items)) < count:
            assert time.monotonic() < end, self.log.read_text()
            assert self.process.poll() is None, self.log.read_text()
            time.sleep(0.05)
        return values

    def until_logged(self, text: str, count: int = 1) -> None:
        end = time.monotonic() + 60
        while self.log.read_text().count(text) < count:
            assert time.monotonic() < end, self.log.read_text()
            time.sleep(0.05)

    @property
    def items(self) -> list[Item]:
        return lines(sorted(self.folder.glob("[!_]*.jsonl")))

    def end(self, number: int = signal.SIGTERM) -> None:
        self.process.send_signal(number)
        self.process.wait(30)


def options(unit: str) -> str:
    return json.dumps(OPTIONS | {"unit_of_measurement": unit})


def listening(broker: Mosquitto, process: Process, first: float) -> None:
    """Sends a state until the bridge, which listens soon after the announcement, has it."""
    end = time.monotonic() + 60
    while not watts(process.items):
        assert time.monotonic() < end, process.log.read_text()
        broker.send("home/a", str(first))
        time.sleep(0.2)


@pytest.mark.rest
def test_a_unit_changes_while_a_bridge_runs_is_away_and_is_killed(
    mosquitto: Mosquitto, tmp_path: Path
) -> None:
    mosquitto.send(CONFIG, options("W"), retain=True)
    mosquitto.send("home/a", "1", retain=True)
    process = Process(mosquitto.address, tmp_path / "house")
    try:
        listening(mosquitto, process, 2)
        base = len(process.until(1))
        mosquitto.send(CONFIG, options("kW"), retain=True)
        mosquitto.send("home/a", "0.003", retain=True)
        mosquitto.send("home/a", "0.004", qos=0)
        assert process.until(base + 2)[base:] == [3, 4]
        process.end(signal.SIGKILL)
        mosquitto.send("home/a", "0.005")
        mosquitto.send(CONFIG, options("W"), retain=True)
        mosquitto.send("home/a", "6", retain=True)
        mosquitto.send("home/a", "7", qos=0)  # which no broker keeps
        process = Process(mosquitto.address, tmp_path / "house")
        assert process.until(base + 4)[base:] == [3, 4, 5, 6]
        mosquitto.stop()  # with what waits, and the session
        process.until_logged("broke off")
        mosquitto.start()
        process.until_logged("as before", 2)
        mosquitto.send("home/a", "8")
        assert process.until(base + 5)[base:] == [3, 4, 5, 6, 8]
        process.end()
        assert process.process.returncode == 0
        assert set(watts(process.items)[:base]) == {2}
        assert "set aside" not in process.log.read_text()
    finally:
        process.process.kill()
        process.process.wait()


@pytest.mark.rest
def test_what_a_broker_sends_again_is_not_written_twice(mosquitto: Mosquitto, tmp_path: Path) -> None:
    """A client of the same name takes messages without acknowledging them, and is gone."""
    mosquitto.send(CONFIG, options("W"), retain=True)
    process = Process(mosquitto.address, tmp_path / "house")
    try:
        listening(mosquitto, process, 1)
        process.end()
        base = len(watts(process.items))
        payloads: list[bytes] = []
        client = mqtt.Client(CallbackAPIVersion.VERSION2, "house", clean_session=False, manual_ack=True)
        client.username_pw_set(USER, PASSWORD)
        client.on_message = lambda _, __, message: payloads.append(bytes(message.payload))
        mosquitto.send("home/a", "2")
        mosquitto.send(CONFIG, options("kW"), retain=True)
        client.connect("127.0.0.1", mosquitto.port)
        end = time.monotonic() + 60
        while len(payloads) < 2:
            assert time.monotonic() < end
            client.loop(0.1)
        connection = client.socket()
        assert connection is not None
        connection.close()
        mosquitto.send("home/a", "0.003")
        process = Process(mosquitto.address, tmp_path / "house")
        assert process.until(base + 1)[base:] == [3]
        process.end()
        assert Counter(watts(process.items))[3] == 1
        assert "repeated: 1" in process.log.read_text()
    finally:
        process.process.kill()
        process.process.wait()


@pytest.mark.rest
def test_a_broker_that_refuses_ends_the_bridge(mosquitto: Mosquitto, tmp_path: Path) -> None:
    process = Process(mosquitto.address, tmp_path / "house", "wrong")
    assert process.process.wait(60) == 1
    assert "refuses: Not authorized" in process.log.read_text()
    other = Process("127.0.0.1:1", tmp_path / "other")
    assert other.process.wait(60) == 1
    assert "does not answer" in other.log.read_text()
