//! Haft for embedders: the one path of a tool call as a library.
