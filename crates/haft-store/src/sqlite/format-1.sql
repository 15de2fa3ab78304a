CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;

CREATE TABLE sessions (
    number INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    created INTEGER NOT NULL,
    -- when a run of it last began or ended, or something was taken away
    updated INTEGER NOT NULL,
    profile TEXT NOT NULL,
    project TEXT,
    deleted INTEGER NOT NULL DEFAULT 0
) STRICT;

CREATE TABLE leases (
    session TEXT PRIMARY KEY REFERENCES sessions (id),
    epoch INTEGER NOT NULL,
    -- all null while nobody holds it
    owner TEXT,
    process TEXT,
    until INTEGER
) STRICT, WITHOUT ROWID;

CREATE TABLE journal (
    number INTEGER PRIMARY KEY,
    run TEXT NOT NULL,
    session TEXT NOT NULL,
    seq INTEGER NOT NULL,
    kind TEXT NOT NULL,
    -- canonical JSON; null if it was taken away
    payload TEXT,
    payload_sha256 BLOB NOT NULL,
    time INTEGER NOT NULL,
    prev BLOB NOT NULL,
    hash BLOB NOT NULL,
    v INTEGER NOT NULL,
    UNIQUE (run, seq)
) STRICT;
CREATE INDEX journal_beginnings ON journal (session) WHERE seq = 0;
CREATE INDEX journal_ends ON journal (run) WHERE kind = 'run_ended';

CREATE TABLE files (
    run TEXT NOT NULL,
    path TEXT NOT NULL,
    -- both null if it was taken away
    bytes BLOB,
    sha256 BLOB,
    PRIMARY KEY (run, path)
) STRICT;

CREATE TABLE artifacts (
    session TEXT NOT NULL,
    id TEXT NOT NULL,
    version INTEGER NOT NULL,
    run TEXT NOT NULL,
    content_type TEXT NOT NULL,
    title TEXT NOT NULL,
    source TEXT NOT NULL,
    -- null if it was taken away
    content TEXT,
    PRIMARY KEY (session, id, version)
) STRICT;
CREATE INDEX artifacts_of_run ON artifacts (run);

CREATE TABLE projects (id TEXT PRIMARY KEY, path TEXT NOT NULL, added INTEGER NOT NULL) STRICT, WITHOUT ROWID;
