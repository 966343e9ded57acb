-- A position is the channel's own words: on Telegram, whose offset it is stands in front of it.

DROP TABLE positions;

CREATE TABLE positions (
    channel TEXT PRIMARY KEY,
    position TEXT NOT NULL
);
