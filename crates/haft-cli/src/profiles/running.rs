//! How the calls of a profile run: `execution`, `dedupe`, `cache`, `taint`, `repairs`, `approval` and `compact` of its file (CONFLICT-01, CONFLICT-12,
//! CONFLICT-16, CFG-03).

use std::fmt::Write;

use haft_core::Profile;
use haft_core::profile::{ApprovalMode, Compaction, ExecutionMode, Repairs, Reuse, Taint};

use crate::document::reader::TableReader;

/// What one file says of it; what it leaves out is none.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Running {
    mode: Option<ExecutionMode>,
    max_workers: Option<u32>,
    batch: Option<bool>,
    history: Option<bool>,
    include_side_effects: Option<bool>,
    failures: Option<bool>,
    cache: Option<bool>,
    cache_ttl_s: Option<u64>,
    taint_ask: Option<bool>,
    repairs_ask: Option<bool>,
    approval: Option<ApprovalMode>,
    compact_at: Option<u8>,
}

/// Reads the seven tables of a profile.
pub(super) fn read(root: &TableReader<'_>) -> Running {
    let mut running = Running::default();
    if let Some(execution) = root.table("execution") {
        let modes = [ExecutionMode::Serial, ExecutionMode::Parallel];
        running.mode = execution.word("mode", &["serial", "parallel"]).and_then(|at| modes.get(at).copied());
        let workers = execution.whole("max_workers", 1, u64::from(Profile::MOST_WORKERS));
        running.max_workers = workers.and_then(|number| u32::try_from(number).ok());
        execution.finish();
    }
    if let Some(dedupe) = root.table("dedupe") {
        running.batch = dedupe.boolean("batch");
        running.history = dedupe.boolean("history");
        running.include_side_effects = dedupe.boolean("include_side_effects");
        running.failures = dedupe.boolean("failures");
        dedupe.finish();
    }
    if let Some(cache) = root.table("cache") {
        running.cache = cache.boolean("enabled");
        running.cache_ttl_s = cache.whole("ttl_s", 1, 366 * 24 * 3600);
        cache.finish();
    }
    if let Some(taint) = root.table("taint") {
        running.taint_ask = taint.boolean("ask");
        taint.finish();
    }
    if let Some(repairs) = root.table("repairs") {
        running.repairs_ask = repairs.boolean("ask");
        repairs.finish();
    }
    if let Some(approval) = root.table("approval") {
        let modes = [ApprovalMode::Off, ApprovalMode::Ask];
        running.approval = approval.word("mode", &["off", "ask"]).and_then(|at| modes.get(at).copied());
        approval.finish();
    }
    if let Some(compact) = root.table("compact") {
        running.compact_at = compact.whole("at", 0, 100).and_then(|percent| u8::try_from(percent).ok());
        compact.finish();
    }
    running
}

impl Running {
    /// What this file says, and where it says nothing, what the one below does.
    pub(super) fn over(self, below: Self) -> Self {
        Self {
            mode: self.mode.or(below.mode),
            max_workers: self.max_workers.or(below.max_workers),
            batch: self.batch.or(below.batch),
            history: self.history.or(below.history),
            include_side_effects: self.include_side_effects.or(below.include_side_effects),
            failures: self.failures.or(below.failures),
            cache: self.cache.or(below.cache),
            cache_ttl_s: self.cache_ttl_s.or(below.cache_ttl_s),
            taint_ask: self.taint_ask.or(below.taint_ask),
            repairs_ask: self.repairs_ask.or(below.repairs_ask),
            approval: self.approval.or(below.approval),
            compact_at: self.compact_at.or(below.compact_at),
        }
    }

    pub(super) fn mode(&self) -> ExecutionMode {
        self.mode.unwrap_or(ExecutionMode::Serial)
    }

    pub(super) fn max_workers(&self) -> u32 {
        self.max_workers.unwrap_or(Profile::DEFAULT_WORKERS)
    }

    pub(super) fn taint(&self) -> Taint {
        self.taint_ask.map_or_else(Taint::default, |ask| Taint { ask })
    }

    pub(super) fn repairs(&self) -> Repairs {
        self.repairs_ask.map_or_else(Repairs::default, |ask| Repairs { ask })
    }

    pub(super) fn compact(&self) -> Compaction {
        self.compact_at.map_or_else(Compaction::default, |at| Compaction { at })
    }

    pub(super) fn approval(&self) -> ApprovalMode {
        self.approval.unwrap_or_default()
    }

    pub(super) fn reuse(&self) -> Reuse {
        let cached = self.cache.unwrap_or(false);
        Reuse {
            batch: self.batch.unwrap_or(false),
            history: self.history.unwrap_or(false),
            cache_ttl_s: cached.then(|| self.cache_ttl_s.unwrap_or(Reuse::CACHE_TTL_S)),
            include_side_effects: self.include_side_effects.unwrap_or(false),
            failures: self.failures.unwrap_or(false),
        }
    }
}

/// Writes the tables of a resolved profile; of reuse only what is on.
pub(super) fn write(out: &mut String, profile: &Profile) -> std::fmt::Result {
    match profile.execution {
        ExecutionMode::Serial => writeln!(out, "execution:\n  mode: serial")?,
        ExecutionMode::Parallel => {
            writeln!(out, "execution:\n  mode: parallel\n  max_workers: {}", profile.max_workers)?;
        }
    }
    let reuse = profile.reuse;
    let switches = [
        ("batch", reuse.batch),
        ("history", reuse.history),
        ("include_side_effects", reuse.include_side_effects),
        ("failures", reuse.failures),
    ];
    if switches.iter().any(|(_, on)| *on) {
        writeln!(out, "dedupe:")?;
    }
    for (name, _) in switches.iter().filter(|(_, on)| *on) {
        writeln!(out, "  {name}: true")?;
    }
    if let Some(seconds) = reuse.cache_ttl_s {
        writeln!(out, "cache:\n  enabled: true\n  ttl_s: {seconds}")?;
    }
    if !profile.compact.is_off() {
        writeln!(out, "compact:\n  at: {}", profile.compact.at)?;
    }
    writeln!(out, "taint:\n  ask: {}", profile.taint.ask)?;
    if !profile.repairs.ask {
        writeln!(out, "repairs:\n  ask: false")?;
    }
    match profile.approval {
        // YAML reads a bare `off` as a switch in some versions, so it is quoted.
        ApprovalMode::Off => writeln!(out, "approval:\n  mode: \"off\""),
        ApprovalMode::Ask => Ok(()),
    }
}
