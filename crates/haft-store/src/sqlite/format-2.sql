-- Grants that were taken back; create-only. What was granted lives in the owning process and in the journal.
CREATE TABLE revoked_grants (
    session TEXT NOT NULL REFERENCES sessions (id),
    id TEXT NOT NULL,
    revoked INTEGER NOT NULL,
    PRIMARY KEY (session, id)
) STRICT, WITHOUT ROWID;
