//! Ids of calls on the wire: the provider's own where it has one that it takes back, else the host's (CONFLICT-31).

use std::collections::{HashMap, HashSet};

use haft_core::message::ResultMessage;
use haft_core::{CallId, RequestedCall, WireId};

/// The ids of the calls of one conversation.
#[derive(Debug, Default)]
pub(crate) struct WireIds {
    seen: HashSet<String>,
    /// The ids of the assistant message that came last.
    current: HashMap<CallId, String>,
}

impl WireIds {
    /// The ids of the calls of one answer. A provider's id stands once, and only where it `fits`.
    pub(crate) fn of(
        &mut self,
        calls: &[RequestedCall],
        call_ids: &[CallId],
        fits: impl Fn(&str) -> bool,
    ) -> Vec<String> {
        let mut ids = Vec::with_capacity(calls.len());
        for (position, call) in calls.iter().enumerate() {
            let wire = call.wire_id().map(WireId::as_str).filter(|id| fits(id) && !self.seen.contains(*id));
            let host = call_ids.get(position).map(CallId::as_str);
            let id = wire.or(host).map_or_else(|| format!("call_{position}"), str::to_owned);
            self.seen.insert(id.clone());
            ids.push(id);
        }
        self.current = call_ids.iter().cloned().zip(ids.iter().cloned()).collect();
        ids
    }

    /// Ids may begin anew with the next answer.
    pub(crate) fn forget(&mut self) {
        self.seen.clear();
    }

    /// The id under which the call of `result` was sent.
    pub(crate) fn result(&self, result: &ResultMessage) -> String {
        let known = self.current.get(&result.call_id).map(String::as_str);
        let own = || result.wire_id.as_ref().map_or(result.call_id.as_str(), WireId::as_str);
        known.unwrap_or_else(own).to_owned()
    }
}

/// The alias of each call in this request, as its result carries it (ALI-08); none for what was no call of a tool.
pub(crate) fn aliases(call_ids: &[CallId], results: &[ResultMessage]) -> Vec<Option<String>> {
    let alias_of = |id: &CallId| {
        let result = results.iter().find(|result| result.call_id == *id)?;
        result.tool_id.as_ref().map(|_| result.alias.clone())
    };
    call_ids.iter().map(alias_of).collect()
}
