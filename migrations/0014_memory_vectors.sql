-- What memories mean to a model that has read them, as base64 of 32-bit floats. A memory that is
-- written anew or forgotten has none.
CREATE TABLE memory_vectors (
    memory BIGINT NOT NULL,
    model TEXT NOT NULL,
    vector TEXT NOT NULL,
    PRIMARY KEY (memory, model)
);
