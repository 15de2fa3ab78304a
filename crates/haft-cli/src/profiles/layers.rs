//! Files over what they extend.
//!
//! What a file says holds; what it leaves out comes from what it extends. Lists of allowed tools replace, denials add up,
//! tables by tool are laid over each other, and an empty prompt leaves the prompt below as it is.

use haft_core::policy::Policy;
use haft_core::profile::{BreachPolicy, ConsentTimes, RunKind, ToolSelection};
use haft_core::render::Renderer;
use haft_core::spill::SpillPolicy;
use haft_core::{Profile, ToolRegistry};

use super::ProfileError;
use super::front::{self, Layer};
use super::sources::{self, ProfileSource};
use crate::config::Config;
use crate::document::FileError;
use crate::home::Home;
use crate::rules;

/// Reads `source` and all that it extends; gives the layers as one, and their places.
pub(super) fn read(
    source: ProfileSource,
    home: &Home,
    registry: &ToolRegistry,
) -> Result<(Layer, Vec<String>), ProfileError> {
    let mut chain = vec![source.place.clone()];
    let mut layer = front::read(&source, registry)?;
    let mut top = source;
    while let Some(name) = layer.extends.take() {
        let below = sources::find_extended(&name, &top, home).map_err(|error| match error {
            ProfileError::Unknown { .. } => {
                ProfileError::File(FileError::whole(&top.place, format!("`extends`: {error}"), None))
            }
            file @ ProfileError::File(_) => file,
        })?;
        if chain.contains(&below.place) {
            let text = format!("`extends` goes in a circle: {} → {}", chain.join(" → "), below.place);
            return Err(FileError::whole(&top.place, text, None).into());
        }
        chain.push(below.place.clone());
        layer = layer.over(front::read(&below, registry)?);
        top = below;
    }
    Ok((layer, chain))
}

impl Layer {
    fn over(self, below: Self) -> Self {
        Self {
            name: self.name,
            description: self.description.or(below.description),
            extends: below.extends,
            model: self.model.or(below.model),
            dialect: self.dialect.or(below.dialect),
            run_kind: self.run_kind.or(below.run_kind),
            allow: self.allow.or(below.allow),
            deny: [below.deny, self.deny].concat(),
            alias: [below.alias, self.alias].concat(),
            tool_descriptions: [below.tool_descriptions, self.tool_descriptions].concat(),
            permission: [below.permission, self.permission].concat(),
            renderer: self.renderer.or(below.renderer),
            spill_threshold: self.spill_threshold.or(below.spill_threshold),
            spill_preview: self.spill_preview.or(below.spill_preview),
            spill_sink: self.spill_sink.or(below.spill_sink),
            timeout_s: self.timeout_s.or(below.timeout_s),
            grace_s: self.grace_s.or(below.grace_s),
            unknown_alias: self.unknown_alias.or(below.unknown_alias),
            malformed_arguments: self.malformed_arguments.or(below.malformed_arguments),
            read_artifact_max_chars: self.read_artifact_max_chars.or(below.read_artifact_max_chars),
            max_tokens: self.max_tokens.or(below.max_tokens),
            temperature: self.temperature.or(below.temperature),
            // The rules of the file itself are heard first.
            rules: [self.rules, below.rules].concat(),
            policy_default: rules::stricter(self.policy_default, below.policy_default),
            running: self.running.over(below.running),
            skills: self.skills.over(below.skills),
            world_info: self.world_info.or(below.world_info),
            delegation: self.delegation.over(below.delegation),
            workspace: self.workspace.over(below.workspace),
            call_ids: self.call_ids.or(below.call_ids),
            bounds: self.bounds.over(below.bounds),
            prompt: if self.prompt.is_empty() { below.prompt } else { self.prompt },
        }
    }

    /// The plain profile; what no layer says comes from `config`, else from the defaults of the ledger.
    pub(super) fn into_profile(self, name: &str, config: &Config) -> Profile {
        let spill = SpillPolicy::default();
        let consent = ConsentTimes::default();
        let read_cap = Profile::new(name).read_artifact_chars;
        Profile {
            name: self.name.unwrap_or_else(|| name.to_owned()),
            description: self.description.unwrap_or_default(),
            prompt: self.prompt,
            model: self.model,
            dialect: self.dialect,
            run_kind: self.run_kind.unwrap_or(RunKind::Chat),
            tools: ToolSelection {
                allow: self.allow.unwrap_or_default(),
                deny: self.deny,
                alias: self.alias.into_iter().collect(),
                description: self.tool_descriptions.into_iter().collect(),
                permission: self.permission.into_iter().collect(),
            },
            policy: Policy {
                user: config.rules.clone(),
                platform: config.platform.rules.clone(),
                plan: None,
                profile: self.rules,
                source: config.source_rules.clone(),
                default: [config.policy_default, config.platform.default]
                    .into_iter()
                    .fold(self.policy_default, rules::stricter),
            },
            budgets: self.bounds.budgets(),
            loops: self.bounds.loops(),
            unattended: self.bounds.unattended(),
            execution: self.running.mode(),
            max_workers: self.running.max_workers(),
            reuse: self.running.reuse(),
            compact: self.running.compact(),
            taint: self.running.taint(),
            repairs: self.running.repairs(),
            renderer: self.renderer.unwrap_or(Renderer::Markdown),
            spill: SpillPolicy {
                threshold: self.spill_threshold.unwrap_or(spill.threshold),
                preview: self.spill_preview.or(config.spill_preview).unwrap_or(spill.preview),
                sink: self.spill_sink.unwrap_or(spill.sink),
            },
            consent: ConsentTimes {
                timeout_s: self.timeout_s.or(config.consent_timeout_s).unwrap_or(consent.timeout_s),
                grace_s: self.grace_s.or(config.consent_grace_s).unwrap_or(consent.grace_s),
            },
            approval: self.running.approval(),
            unknown_alias: self.unknown_alias.unwrap_or(BreachPolicy::ToolError),
            malformed_arguments: self.malformed_arguments.unwrap_or(BreachPolicy::ToolError),
            workspace: self.workspace.roots(),
            call_ids: self.call_ids,
            skills: self.skills.policy(),
            world_info: self.world_info.unwrap_or_default(),
            delegation: self.delegation.policy(),
            read_artifact_chars: self
                .read_artifact_max_chars
                .or(config.read_artifact_max_chars)
                .unwrap_or(read_cap),
            max_tokens: self.max_tokens,
            temperature: self.temperature,
        }
    }
}
