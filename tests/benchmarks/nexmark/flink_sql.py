"""NEXMark as Flink SQL, over the files of a data set and with the columns of the queries in `queries/nexmark/`.

The texts follow nexmark/nexmark, with these differences: time is in microseconds, and a watermark, which Flink has in
milliseconds only, is on `rowtime`; query 7 is a join of windows (the original's BETWEEN counts a bid at the edge
twice, and keeps all bids for ever); query 11 has the table function for sessions; query 12 takes the source's time,
as processing time gives no result that could be compared; query 13 is an ordinary join, since files are nothing that
Flink looks up; numbers are doubles where the original has decimals.

Flink does not read the files of a folder in any order. `delay` says how far a watermark stays behind: results are
complete where that is more event time than what is read at once.
"""

from __future__ import annotations

from pathlib import Path

from tests.benchmarks.nexmark import oracle

_TABLES = {
    "person": "id BIGINT, name STRING, emailAddress STRING, creditCard STRING, city STRING, state STRING,"
    " `dateTime` TIMESTAMP(6), extra STRING",
    "auction": "id BIGINT, itemName STRING, description STRING, initialBid BIGINT, reserve BIGINT,"
    " `dateTime` TIMESTAMP(6), expires TIMESTAMP(6), seller BIGINT, category BIGINT, extra STRING",
    "bid": "auction BIGINT, bidder BIGINT, price BIGINT, channel STRING, url STRING, `dateTime` TIMESTAMP(6),"
    " extra STRING",
    "side_input": "key BIGINT, `value` STRING",
}
_FORMATS = {
    "json": "'format' = 'json', 'json.timestamp-format.standard' = 'ISO-8601'",
    "parquet": "'format' = 'parquet', 'parquet.utc-timezone' = 'true', 'parquet.write.int64.timestamp' = 'true',"
    " 'parquet.timestamp.time.unit' = 'micros'",
}

_EUROS = "CAST(price AS DOUBLE) * 0.908E0"
_TEN_SECONDS = "DESCRIPTOR(rowtime), INTERVAL '10' SECOND"
_COUNTS = """
  SELECT auction, COUNT(*) AS num, window_start, window_end
  FROM TABLE(HOP(TABLE bid, DESCRIPTOR(rowtime), INTERVAL '2' SECOND, INTERVAL '10' SECOND))
  GROUP BY auction, window_start, window_end"""
_RANKS = """
  COUNT(*) AS total_bids,
  COUNT(*) FILTER (WHERE price < 10000) AS rank1_bids,
  COUNT(*) FILTER (WHERE price >= 10000 AND price < 1000000) AS rank2_bids,
  COUNT(*) FILTER (WHERE price >= 1000000) AS rank3_bids"""
_DISTINCT = """
  COUNT(DISTINCT bidder) AS total_bidders,
  COUNT(DISTINCT bidder) FILTER (WHERE price < 10000) AS rank1_bidders,
  COUNT(DISTINCT bidder) FILTER (WHERE price >= 10000 AND price < 1000000) AS rank2_bidders,
  COUNT(DISTINCT bidder) FILTER (WHERE price >= 1000000) AS rank3_bidders,
  COUNT(DISTINCT auction) AS total_auctions,
  COUNT(DISTINCT auction) FILTER (WHERE price < 10000) AS rank1_auctions,
  COUNT(DISTINCT auction) FILTER (WHERE price >= 10000 AND price < 1000000) AS rank2_auctions,
  COUNT(DISTINCT auction) FILTER (WHERE price >= 1000000) AS rank3_auctions"""

_SELECT = {
    "q0": "SELECT auction, bidder, price, `dateTime`, extra FROM bid",
    "q1": f"SELECT auction, bidder, {_EUROS}, `dateTime`, extra FROM bid",
    "q2": "SELECT auction, price FROM bid WHERE MOD(auction, 123) = 0",
    "q3": """
SELECT P.name, P.city, P.state, A.id FROM auction AS A INNER JOIN person AS P ON A.seller = P.id
WHERE A.category = 10 AND (P.state = 'OR' OR P.state = 'ID' OR P.state = 'CA')""",
    "q4": """
SELECT category, AVG(CAST(final AS DOUBLE))
FROM (
  SELECT MAX(B.price) AS final, A.category FROM auction A, bid B
  WHERE A.id = B.auction AND B.`dateTime` BETWEEN A.`dateTime` AND A.expires
  GROUP BY A.id, A.category
) GROUP BY category""",
    "q5": f"""
SELECT C.auction, C.num
FROM ({_COUNTS}) C
JOIN (SELECT MAX(num) AS most, window_start, window_end FROM ({_COUNTS}) GROUP BY window_start, window_end) M
ON C.window_start = M.window_start AND C.window_end = M.window_end AND C.num >= M.most""",
    "q7": f"""
SELECT B.auction, B.bidder, B.price, B.`dateTime`, B.extra
FROM (SELECT * FROM TABLE(TUMBLE(TABLE bid, {_TEN_SECONDS}))) B
JOIN (
  SELECT MAX(price) AS price, window_start, window_end FROM TABLE(TUMBLE(TABLE bid, {_TEN_SECONDS}))
  GROUP BY window_start, window_end
) M
ON B.window_start = M.window_start AND B.window_end = M.window_end AND B.price = M.price""",
    "q8": f"""
SELECT P.id, P.name, P.window_start
FROM (
  SELECT id, name, window_start, window_end FROM TABLE(TUMBLE(TABLE person, {_TEN_SECONDS}))
  GROUP BY id, name, window_start, window_end
) P
JOIN (
  SELECT seller, window_start, window_end FROM TABLE(TUMBLE(TABLE auction, {_TEN_SECONDS}))
  GROUP BY seller, window_start, window_end
) A
ON P.id = A.seller AND P.window_start = A.window_start AND P.window_end = A.window_end""",
    "q9": """
SELECT id, itemName, description, initialBid, reserve, `dateTime`, expires, seller, category, extra,
       auction, bidder, price, bid_dateTime, bid_extra
FROM (
  SELECT A.*, B.auction, B.bidder, B.price, B.`dateTime` AS bid_dateTime, B.extra AS bid_extra,
         ROW_NUMBER() OVER (PARTITION BY A.id ORDER BY B.price DESC, B.`dateTime` ASC) AS place
  FROM auction A, bid B
  WHERE A.id = B.auction AND B.`dateTime` BETWEEN A.`dateTime` AND A.expires
) WHERE place <= 1""",
    "q10": """
SELECT auction, bidder, price, `dateTime`, extra,
       DATE_FORMAT(`dateTime`, 'yyyy-MM-dd'), DATE_FORMAT(`dateTime`, 'HH:mm')
FROM bid""",
    "q11": """
SELECT bidder, COUNT(*), MIN(`dateTime`), MAX(`dateTime`) + INTERVAL '10' SECOND
FROM TABLE(SESSION(TABLE bid PARTITION BY bidder, DESCRIPTOR(rowtime), INTERVAL '10' SECOND))
GROUP BY bidder, window_start, window_end""",
    "q12": f"""
SELECT bidder, COUNT(*), window_start, window_end
FROM TABLE(TUMBLE(TABLE bid, {_TEN_SECONDS})) GROUP BY bidder, window_start, window_end""",
    "q13": """
SELECT B.auction, B.bidder, B.price, B.`dateTime`, S.`value`
FROM bid B JOIN side_input S ON MOD(B.auction, 10000) = S.key""",
    "q14": f"""
SELECT auction, bidder, {_EUROS},
       CASE WHEN HOUR(`dateTime`) >= 8 AND HOUR(`dateTime`) <= 18 THEN 'dayTime'
            WHEN HOUR(`dateTime`) <= 6 OR HOUR(`dateTime`) >= 20 THEN 'nightTime'
            ELSE 'otherTime' END,
       `dateTime`, extra, CAST(CHAR_LENGTH(extra) - CHAR_LENGTH(REPLACE(extra, 'c', '')) AS BIGINT)
FROM bid WHERE {_EUROS} > 1000000 AND {_EUROS} < 50000000""",
    "q15": f"SELECT CAST(`dateTime` AS DATE), {_RANKS}, {_DISTINCT} FROM bid GROUP BY CAST(`dateTime` AS DATE)",
    "q16": f"""
SELECT channel, CAST(`dateTime` AS DATE), MAX(DATE_FORMAT(`dateTime`, 'HH:mm')), {_RANKS}, {_DISTINCT}
FROM bid GROUP BY channel, CAST(`dateTime` AS DATE)""",
    "q17": f"""
SELECT auction, CAST(`dateTime` AS DATE), {_RANKS},
       MIN(price), MAX(price), AVG(CAST(price AS DOUBLE)), SUM(price)
FROM bid GROUP BY auction, CAST(`dateTime` AS DATE)""",
    "q18": """
SELECT auction, bidder, price, channel, url, `dateTime`, extra
FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY bidder, auction ORDER BY rowtime DESC) AS place FROM bid)
WHERE place <= 1""",
    "q19": """
SELECT auction, bidder, price, channel, url, `dateTime`, extra
FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY auction ORDER BY price DESC, `dateTime`) AS place FROM bid)
WHERE place <= 10""",
    "q20": """
SELECT B.auction, B.bidder, B.price, B.channel, B.url, B.`dateTime`, B.extra, A.itemName, A.description, A.initialBid,
       A.reserve, A.`dateTime`, A.expires, A.seller, A.category, A.extra
FROM bid AS B INNER JOIN auction AS A ON B.auction = A.id WHERE A.category = 10""",
    "q21": """
SELECT auction, bidder, price, channel,
       CASE WHEN LOWER(channel) = 'apple' THEN '0'
            WHEN LOWER(channel) = 'google' THEN '1'
            WHEN LOWER(channel) = 'facebook' THEN '2'
            WHEN LOWER(channel) = 'baidu' THEN '3'
            ELSE REGEXP_EXTRACT(url, '(&|^)channel_id=([^&]*)', 2) END
FROM bid
WHERE REGEXP_EXTRACT(url, '(&|^)channel_id=([^&]*)', 2) IS NOT NULL
   OR LOWER(channel) IN ('apple', 'google', 'facebook', 'baidu')""",
    "q22": """
SELECT auction, bidder, price, channel, SPLIT_INDEX(url, '/', 3), SPLIT_INDEX(url, '/', 4), SPLIT_INDEX(url, '/', 5)
FROM bid""",
}
_READS = {
    "q3": ("auction", "person"),
    "q4": ("auction", "bid"),
    "q8": ("auction", "person"),
    "q9": ("auction", "bid"),
    "q13": ("bid", "side_input"),
    "q20": ("auction", "bid"),
}
"""What a query reads if not bids alone."""
REFUSED = {"q6": "OVER does not take rows that may be corrected (FLINK-19059)"}
"""Queries that Flink SQL does not run, and why."""
UPDATING = frozenset({"q4", "q9", "q15", "q16", "q17", "q18", "q19"})
"""Queries whose results are corrected in a streaming run: files do not take them, but in batch mode they do."""


def select(query: str) -> str:
    """The query itself."""
    return _SELECT[query]


def statements(
    query: str, folder: Path | str, format: str, delay: int = 4, keep: bool | None = None
) -> list[str]:
    """Tables over a data set, a sink, and last the INSERT.

    `delay`: of watermarks, in seconds, less than 100. `keep`: whether the sink is the folder `{out}`, in the same
    format, or discards everything; by default it is kept where streaming mode can write it.
    """
    tables = [_source(name, Path(folder), format, delay) for name in _READS.get(query, ("bid",))]
    kept = query not in UPDATING if keep is None else keep
    sink = f"'connector' = 'filesystem', 'path' = '{{out}}', {_FORMATS[format]}"
    if not kept:
        sink = "'connector' = 'blackhole'"
    columns = ", ".join(_column(c) for c in oracle.columns(query).split(", "))
    return [
        *tables,
        f"CREATE TEMPORARY TABLE answers ({columns}) WITH ({sink})",
        f"INSERT INTO answers {select(query).strip()}",
    ]


def _column(text: str) -> str:
    name, type_ = text.split()
    return f"`{name}` {type_.replace('TIMESTAMP', 'TIMESTAMP(6)')}"


def _source(name: str, folder: Path, format: str, delay: int) -> str:
    columns = _TABLES[name]
    if "dateTime" in columns:
        columns += ", rowtime AS CAST(`dateTime` AS TIMESTAMP(3))"
        columns += f", WATERMARK FOR rowtime AS rowtime - INTERVAL '{delay}' SECOND"
    files = f"'source.path.regex-pattern' = '.*-data\\.{format}'"
    connector = f"'connector' = 'filesystem', 'path' = 'file://{folder.resolve()}/{name}', {files}"
    return f"CREATE TEMPORARY TABLE {name} ({columns}) WITH ({connector}, {_FORMATS[format]})"
