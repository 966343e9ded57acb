-- Jobs at services for media, so that a call that continues after a restart fetches its job instead of
-- submitting, and paying for, another one. The id is that of the call; `reference` is how the service
-- knows the job, empty while the request to submit it is under way.

CREATE TABLE media_jobs (
    id TEXT PRIMARY KEY,
    reference TEXT NOT NULL,
    created_at BIGINT NOT NULL
);

CREATE INDEX media_jobs_by_age ON media_jobs (created_at);
