"""Elements of XML as sources have them, and the files of an output."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

from tests.kit.stream import Item


def quote(ticker: str, price: float, date: str, time: str) -> str:
    """A tuple as the seeds write it."""
    return f"""<QUOTE>
 <TICKER> {ticker} </TICKER>
 <PRICE> {price} </PRICE>
 <DATE> {date} </DATE>
 <TIME> {time} </TIME>
</QUOTE>"""


def punctuation_line(ticker: str, price: str, date: str, time: str) -> str:
    """A punctuation as the seeds write it."""
    inside = quote(ticker, 0, date, time).replace(" 0 ", f" {price} ")
    return inside.replace("QUOTE>", "punct:QUOTE>")


def elements(folder: Path) -> Iterator[Item]:
    """The stream that an output folder of XML holds, read by another parser, as items of JSON Lines."""
    head = '<all xmlns:punct="punct" xmlns:accent="accent">'
    for file in sorted(folder.glob("epoch=*/*")):
        assert file.suffix == ".xml"
        for element in ElementTree.fromstring(f"{head}{file.read_text()}</all>"):
            if element.tag.startswith("{accent}"):
                yield {"$accent": element.text}
            elif element.tag.startswith("{punct}"):
                yield {"$punctuation": {child.tag: child.text for child in element}}
            else:
                yield {child.tag: child.text or "" for child in element}
