
-- Their words, for the search.

CREATE TABLE memory_words (
    rowid BIGINT PRIMARY KEY,
    words TSVECTOR NOT NULL
);

CREATE INDEX memory_words_words ON memory_words USING gin (words);
