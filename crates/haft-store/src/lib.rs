//! What lasts: sessions, journals, run workspaces, artifacts, projects and blobs, in SQLite or in memory.
