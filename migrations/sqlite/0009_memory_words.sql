
-- Their words, for the search; as they are cut by the program, nothing is left to be folded.

CREATE VIRTUAL TABLE memory_words USING fts5 (words, tokenize = 'unicode61 remove_diacritics 0');
