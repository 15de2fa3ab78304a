//! Runs: the call path, the loop, context assembly, consent, results.
