"""What each query of NEXMark gives over whole streams: plain SQL over the tables person, auction, bid, side_input."""

from __future__ import annotations

_BID = ("auction", "bidder", "price", "channel", "url", "dateTime", "extra")
_WON = (
    *("id", "itemName", "description", "initialBid", "reserve", "dateTime", "expires", "seller", "category"),
    *("extra", "auction", "bidder", "price", "bid_dateTime", "bid_extra"),
)

_VALID = """
valid AS (
  SELECT a.id, a.itemName, a.description, a.initialBid, a.reserve, a.dateTime, a.expires, a.seller, a.category,
         a.extra, b.auction, b.bidder, b.price, b.dateTime AS bid_dateTime, b.extra AS bid_extra
  FROM auction a JOIN bid b ON a.id = b.auction
  WHERE b.dateTime BETWEEN a.dateTime AND a.expires
)"""
_WINNING = f"""{_VALID},
winning AS (
  SELECT {", ".join(_WON)}
  FROM (SELECT *, row_number() OVER (PARTITION BY id ORDER BY price DESC, bid_dateTime) AS place FROM valid)
  WHERE place = 1
)"""
_RANKS = """
  count(*) AS total_bids,
  count(*) FILTER (WHERE price < 10000) AS rank1_bids,
  count(*) FILTER (WHERE price >= 10000 AND price < 1000000) AS rank2_bids,
  count(*) FILTER (WHERE price >= 1000000) AS rank3_bids"""
_DISTINCT = """
  count(DISTINCT bidder) AS total_bidders,
  count(DISTINCT bidder) FILTER (WHERE price < 10000) AS rank1_bidders,
  count(DISTINCT bidder) FILTER (WHERE price >= 10000 AND price < 1000000) AS rank2_bidders,
  count(DISTINCT bidder) FILTER (WHERE price >= 1000000) AS rank3_bidders,
  count(DISTINCT auction) AS total_auctions,
  count(DISTINCT auction) FILTER (WHERE price < 10000) AS rank1_auctions,
  count(DISTINCT auction) FILTER (WHERE price >= 10000 AND price < 1000000) AS rank2_auctions,
  count(DISTINCT auction) FILTER (WHERE price >= 1000000) AS rank3_auctions"""
_WID = "unix_micros({0}) div 10000000"
_BEGINS = "timestamp_micros(wid * 10000000)"

_SQL = {
    "q0": "SELECT auction, bidder, price, dateTime, extra FROM bid",
    "q1": "SELECT auction, bidder, price * 0.908D AS price, dateTime, extra FROM bid",
    "q2": "SELECT auction, price FROM bid WHERE auction % 123 = 0",
    "q3": """
SELECT p.name, p.city, p.state, a.id FROM auction a JOIN person p ON a.seller = p.id
WHERE a.category = 10 AND p.state IN ('OR', 'ID', 'CA')""",
    "q4": f"""
WITH {_WINNING}
SELECT category, avg(price) AS final FROM winning GROUP BY category""",
    "q5": """
WITH hops AS (
  SELECT auction, unix_micros(dateTime) div 2000000 - hop AS wid
  FROM bid LATERAL VIEW explode(sequence(0, 4)) AS hop
),
counts AS (SELECT auction, wid, count(*) AS num FROM hops GROUP BY auction, wid)
SELECT auction, num FROM (SELECT *, max(num) OVER (PARTITION BY wid) AS most FROM counts) WHERE num = most""",
    "q6": f"""
WITH {_WINNING}
SELECT auction, seller, price,
       avg(price) OVER (PARTITION BY seller ORDER BY auction ROWS BETWEEN 10 PRECEDING AND CURRENT ROW) AS mean
FROM winning""",
    "q7": f"""
SELECT auction, bidder, price, dateTime, extra
FROM (SELECT *, max(price) OVER (PARTITION BY {_WID.format("dateTime")}) AS highest FROM bid)
WHERE price = highest""",
    "q8": f"""
SELECT DISTINCT id, name, {_BEGINS} AS starttime
FROM (SELECT id, name, {_WID.format("dateTime")} AS wid FROM person)
JOIN (SELECT seller AS id, {_WID.format("dateTime")} AS wid FROM auction) USING (id, wid)""",
    "q9": f"WITH {_WINNING} SELECT * FROM winning",
    "q10": """
SELECT auction, bidder, price, dateTime, extra,
       date_format(dateTime, 'yyyy-MM-dd') AS dt, date_format(dateTime, 'HH:mm') AS hm
FROM bid""",
    "q11": """
WITH begun AS (
  SELECT bidder, dateTime,
         coalesce(unix_micros(dateTime) - lag(unix_micros(dateTime)) OVER last >= 10000000, true) AS begins
  FROM bid WINDOW last AS (PARTITION BY bidder ORDER BY dateTime)
),
visits AS (
  SELECT *, count_if(begins) OVER (PARTITION BY bidder ORDER BY dateTime ROWS UNBOUNDED PRECEDING) AS visit FROM begun
)
SELECT bidder, count(*) AS bid_count, min(dateTime) AS starttime, max(dateTime) + INTERVAL 10 SECONDS AS endtime
FROM visits GROUP BY bidder, visit""",
    "q12": f"""
SELECT bidder, bid_count, {_BEGINS} AS starttime, {_BEGINS} + INTERVAL 10 SECONDS AS endtime
FROM (SELECT bidder, wid, count(*) AS bid_count
      FROM (SELECT bidder, {_WID.format("dateTime")} AS wid FROM bid) GROUP BY bidder, wid)""",
    "q13": """
SELECT auction, bidder, price, dateTime, value FROM bid JOIN side_input ON auction % 10000 = key""",
    "q14": """
SELECT auction, bidder, price * 0.908D AS price,
       CASE WHEN hour(dateTime) BETWEEN 8 AND 18 THEN 'dayTime'
            WHEN hour(dateTime) <= 6 OR hour(dateTime) >= 20 THEN 'nightTime'
            ELSE 'otherTime' END AS bidTimeType,
       dateTime, extra, regexp_count(extra, 'c') AS c_counts
FROM bid WHERE price * 0.908D > 1000000 AND price * 0.908D < 50000000""",
    "q15": f"SELECT date(dateTime) AS day, {_RANKS}, {_DISTINCT} FROM bid GROUP BY day",
    "q16": f"""
SELECT channel, date(dateTime) AS day, max(date_format(dateTime, 'HH:mm')) AS minute, {_RANKS}, {_DISTINCT}
FROM bid GROUP BY channel, day""",
    "q17": f"""
SELECT auction, date(dateTime) AS day, {_RANKS},
       min(price) AS min_price, max(price) AS max_price, avg(price) AS avg_price, sum(price) AS sum_price
FROM bid GROUP BY auction, day""",
    "q18": f"""
SELECT {", ".join(_BID)}
FROM (SELECT *, row_number() OVER (PARTITION BY bidder, auction ORDER BY dateTime DESC) AS place FROM bid)
WHERE place = 1""",
    "q19": f"""
SELECT {", ".join(_BID)}
FROM (SELECT *, row_number() OVER (PARTITION BY auction ORDER BY price DESC, dateTime) AS place FROM bid)
WHERE place <= 10""",
    "q20": """
SELECT b.auction, b.bidder, b.price, b.channel, b.url, b.dateTime AS bid_dateTime, b.extra AS bid_extra, a.itemName,
       a.description, a.initialBid, a.reserve, a.dateTime AS auction_dateTime, a.expires, a.seller, a.category,
       a.extra AS auction_extra
FROM bid b JOIN auction a ON b.auction = a.id WHERE a.category = 10""",
    "q21": """
SELECT * FROM (
  SELECT auction, bidder, price, channel,
         CASE lower(channel) WHEN 'apple' THEN '0' WHEN 'google' THEN '1' WHEN 'facebook' THEN '2' WHEN 'baidu' THEN '3'
              ELSE nullif(regexp_extract(url, '(&|^)channel_id=([^&]*)', 2), '') END AS channel_id
  FROM bid)
WHERE channel_id IS NOT NULL""",
    "q22": """
SELECT auction, bidder, price, channel,
       split(url, '/')[3] AS dir1, split(url, '/')[4] AS dir2, split(url, '/')[5] AS dir3
FROM bid""",
}
QUERIES = tuple(_SQL)
"""The queries of `queries/nexmark/`, by name."""

_COUNTS = (
    *("total_bids", "rank1_bids", "rank2_bids", "rank3_bids"),
    *("total_bidders", "rank1_bidders", "rank2_bidders", "rank3_bidders"),
    *("total_auctions", "rank1_auctions", "rank2_auctions", "rank3_auctions"),
)
_COLUMNS = {
    "q0": ("auction", "bidder", "price", "dateTime", "extra"),
    "q1": ("auction", "bidder", "price DOUBLE", "dateTime", "extra"),
    "q2": ("auction", "price"),
    "q3": ("name", "city", "state", "id"),
    "q4": ("category", "final DOUBLE"),
    "q5": ("auction", "num"),
    "q6": ("auction", "seller", "price", "mean DOUBLE"),
    "q7": ("auction", "bidder", "price", "dateTime", "extra"),
    "q8": ("id", "name", "starttime"),
    "q9": _WON,
    "q10": ("auction", "bidder", "price", "dateTime", "extra", "dt", "hm"),
    "q11": ("bidder", "bid_count", "starttime", "endtime"),
    "q12": ("bidder", "bid_count", "starttime", "endtime"),
    "q13": ("auction", "bidder", "price", "dateTime", "value"),
    "q14": ("auction", "bidder", "price DOUBLE", "bidTimeType", "dateTime", "extra", "c_counts"),
    "q15": ("day", *_COUNTS),
    "q16": ("channel", "day", "minute", *_COUNTS),
    "q17": ("auction", "day", *_COUNTS[:4], "min_price", "max_price", "avg_price", "sum_price"),
    "q18": _BID,
    "q19": _BID,
    "q20": (
        *(
            "auction",
            "bidder",
            "price",
            "channel",
            "url",
            "bid_dateTime",
            "bid_extra",
            "itemName",
            "description",
        ),
        *("initialBid", "reserve", "auction_dateTime", "expires", "seller", "category", "auction_extra"),
    ),
    "q21": ("auction", "bidder", "price", "channel", "channel_id"),
    "q22": ("auction", "bidder", "price", "channel", "dir1", "dir2", "dir3"),
}
_TYPES = {
    "BIGINT": (
        *("auction", "bidder", "price", "id", "num", "seller", "ten", "initialBid", "reserve", "category"),
        *("bid_count", "c_counts", "min_price", "max_price", "sum_price", *_COUNTS),
    ),
    "TIMESTAMP": ("dateTime", "bid_dateTime", "auction_dateTime", "expires", "starttime", "endtime"),
    "DOUBLE": ("avg_price",),
    "DATE": ("day",),
}


def columns(query: str) -> str:
    """The columns of a query's result as a text of Spark DDL."""
    types = {name: type_ for type_, names in _TYPES.items() for name in names}
    return ", ".join(c if " " in c else f"{c} {types.get(c, 'STRING')}" for c in _COLUMNS[query])


def sql(query: str) -> str:
    """The query as SQL of Spark in UTC. Columns have the names that the query of `queries/nexmark/` gives them."""
    return _SQL[query]
