-- Wikis of agents. The current text of a page is also a memory of the agent, in a scope of its own,
-- so that it is found like one. `links` are the pages that a page names; `sources` are JSON.

CREATE TABLE wiki_pages (
    agent TEXT NOT NULL,
    page TEXT NOT NULL,
    title TEXT NOT NULL,
    version BIGINT NOT NULL,
    archived_at BIGINT,
    changed_at BIGINT NOT NULL,
    PRIMARY KEY (agent, page)
);

CREATE TABLE wiki_versions (
    agent TEXT NOT NULL,
    page TEXT NOT NULL,
    version BIGINT NOT NULL,
    title TEXT NOT NULL,
    content TEXT NOT NULL,
    sources TEXT NOT NULL,
    by_whom TEXT NOT NULL,
    taint TEXT NOT NULL,
    call TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (agent, page, version)
);

CREATE TABLE wiki_links (
    agent TEXT NOT NULL,
    page TEXT NOT NULL,
    target TEXT NOT NULL,
    PRIMARY KEY (agent, page, target)
);

CREATE INDEX wiki_links_to ON wiki_links (agent, target);
