//! The rules of one tool, made ready once: what a snapshot keeps beside the binding.
//!
//! Tool, effect, MCP server and agent are settled here, so that a call is held only against rules that can concern it.

use std::sync::Arc;

use haft_command::{Pattern, Subject};
use serde_json::Value;

use super::commands::{View, looks_like_a_command};
use super::host::{CallHost, HostPattern};
use super::layers::{Layer, Policy, Voice};
use super::named::Named;
use super::rule::Rule;
use super::subtree::{CallPath, Subtree};
use crate::consent::ConsentEnvironment;
use crate::declaration::ToolDeclaration;
use crate::facts::Permission;
use crate::ids::Provider;
use crate::scope::Scope;

/// The rules that can concern one tool in one snapshot, in the order in which they are heard.
#[derive(Debug, Clone)]
pub(crate) struct ToolRules {
    rules: Vec<CompiledRule>,
    /// The denies that look into what a call does, by path, host or command.
    denies_within: Vec<Arc<Rule>>,
    /// Some rule looks at paths, at hosts, at commands.
    looks_at: (bool, bool, bool),
    /// Who gave the permission in the binding.
    pub(crate) permission_by: Layer,
}

/// One rule, read.
#[derive(Debug, Clone)]
pub(crate) struct CompiledRule {
    /// As written.
    pub(crate) rule: Arc<Rule>,
    /// Whose it is.
    pub(crate) layer: Layer,
    conditions: Conditions,
}

/// The conditions on a call. What the rule itself says of every call stands here once more: the rule lies elsewhere in memory, and
/// most rules are not about the call at hand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Conditions {
    /// The rule allows, so that it must be sure.
    sure: bool,
    attended: Option<bool>,
    /// The rule looks at the value of an argument.
    tests_value: bool,
    pub(super) path: Option<Subtree>,
    pub(super) host: Option<HostPattern>,
    pub(super) command: Option<Pattern>,
}

/// What the rules look at in one call; read once for all of them.
pub(super) struct CallFacts<'a> {
    arguments: &'a Value,
    attended: Option<bool>,
    paths: Vec<CallPath>,
    /// Paths that the tool says a yes could cover: the same call with links followed, as far as the tool did.
    scope_paths: Vec<CallPath>,
    hosts: Vec<CallHost>,
    command: CallCommand<'a>,
}

/// Which command of a call is looked at.
enum CallCommand<'a> {
    /// The call holds none.
    None,
    /// This one.
    Known(Subject<'a>),
    /// Anything may be run.
    Unknown,
}

/// True if the rule is about the tool, as far as a tool can be judged without a call. A rule knows it by its id, its native name, its
/// own alias, and the one that the profile `given`s. An allow is careful with names that others choose: the tool of a server or an
/// extension must fit by its whole id, or the rule must name the server or stand among the rules for that source.
pub(super) fn is_about_tool(voice: Voice<'_>, declaration: &ToolDeclaration, given: Option<&str>) -> bool {
    let (id, rule) = (declaration.id(), voice.rule);
    if voice.source.is_some_and(|source| source != id.source()) {
        return false;
    }
    let of_server = rule.mcp.as_ref().is_none_or(|server| match id.provider() {
        Provider::Mcp(registration) => server.fits(registration),
        Provider::Builtin | Provider::Extension(_) => false,
    });
    let by_short_name =
        rule.decision != Permission::Allow || id.is_own() || rule.mcp.is_some() || voice.source.is_some();
    let named = || {
        let tool = &rule.tool;
        tool.fits(id.as_str())
            || by_short_name && (tool.fits(id.native_name()) || tool.fits(&declaration.alias()))
            || given.is_some_and(|alias| tool.fits(alias))
    };
    of_server && rule.effect.is_none_or(|effect| effect.fits(&declaration.facts)) && named()
}

/// The rule that hides the tool from an agent: a deny that looks at no call (POL-08).
pub(crate) fn hiding_rule(
    policy: &Policy,
    agent: &str,
    declaration: &ToolDeclaration,
    alias: &str,
) -> Option<Rule> {
    let hides = |voice: &Voice<'_>| {
        voice.rule.decision == Permission::Deny
            && !voice.rule.is_about_calls()
            && is_about_agent(voice.rule, agent)
            && is_about_tool(*voice, declaration, Some(alias))
    };
    policy.voices().find(hides).map(|voice| voice.rule.clone())
}

fn is_about_agent(rule: &Rule, agent: &str) -> bool {
    rule.agent.as_ref().is_none_or(|glob| glob.fits(agent))
}

impl Conditions {
    /// Reads the conditions of a rule; says which key is wrong, and why.
    pub(super) fn read(rule: &Rule) -> Result<Self, (&'static str, &'static str)> {
        let path = rule.path.as_deref().map(Subtree::parse).transpose().map_err(|why| ("path", why))?;
        let host = rule.host.as_deref().map(HostPattern::parse).transpose().map_err(|why| ("host", why))?;
        let command = rule.command.as_deref().map(Pattern::parse).transpose();
        let command = command.map_err(|why| ("command", why.text()))?;
        if rule.value.as_ref().is_some_and(|value| !value.pointer.starts_with('/')) {
            return Err(("pointer", "a JSON pointer to an argument begins with `/`, such as `/mode`"));
        }
        let sure = rule.decision == Permission::Allow;
        Ok(Self { sure, attended: rule.attended, tests_value: rule.value.is_some(), path, host, command })
    }

    /// True if the rule is about the call. An allow must be sure of that, of every path and host; an ask or a deny holds already
    /// where it may be so of one.
    pub(super) fn fit(&self, rule: &Rule, call: &CallFacts<'_>) -> bool {
        let sure = self.sure;
        let attended = match (self.attended, call.attended) {
            (Some(wanted), Some(attended)) => wanted == attended,
            (Some(_) | None, _) => true,
        };
        let has_value = || {
            rule.value.as_ref().is_none_or(|value| {
                call.arguments.pointer(&value.pointer).is_some_and(|found| value.test.fits(found))
            })
        };
        attended
            && (!self.tests_value || has_value())
            && self.host.as_ref().is_none_or(|host| {
                if sure {
                    !call.hosts.is_empty() && call.hosts.iter().all(|found| host.surely_holds(found))
                } else {
                    call.hosts.iter().any(|found| host.perhaps_holds(found))
                }
            })
            && self.path.as_ref().is_none_or(|path| fits_paths(path, call, sure))
            && self.command.as_ref().is_none_or(|pattern| match &call.command {
                CallCommand::None => false,
                CallCommand::Known(command) if sure => pattern.surely_fits(command),
                CallCommand::Known(command) => pattern.perhaps_fits(command),
                CallCommand::Unknown => !sure,
            })
    }
}

fn fits_paths(subtree: &Subtree, call: &CallFacts<'_>, sure: bool) -> bool {
    if sure {
        let named = !call.paths.is_empty() || !call.scope_paths.is_empty();
        let resolved =
            call.scope_paths.is_empty() || call.scope_paths.iter().any(|path| subtree.surely_holds(path));
        named && resolved && call.paths.iter().all(|path| subtree.surely_holds(path))
    } else {
        call.paths.iter().chain(&call.scope_paths).any(|path| subtree.perhaps_holds(path))
    }
}

impl CompiledRule {
    fn read(layer: Layer, rule: &Rule) -> Result<Self, (&'static str, &'static str)> {
        let conditions = Conditions::read(rule)?;
        Ok(Self { rule: Arc::new(rule.clone()), layer, conditions })
    }

    pub(super) fn fits(&self, call: &CallFacts<'_>) -> bool {
        self.conditions.fit(&self.rule, call)
    }
}

impl ToolRules {
    /// Those of `policy` that can concern the tool; the rule that cannot be read, its key and why, if there is one.
    pub(crate) fn compile(
        policy: &Policy,
        agent: &str,
        declaration: &ToolDeclaration,
        alias: &str,
        permission_by: Layer,
    ) -> Result<Self, (String, &'static str, &'static str)> {
        let concerning = policy.voices_of(declaration.id()).filter(|voice| {
            // A profile's new name for a tool must not make an allow of somebody else fit another one.
            let knows_alias = voice.layer == Layer::Profile || voice.rule.decision != Permission::Allow;
            is_about_agent(voice.rule, agent)
                && is_about_tool(*voice, declaration, knows_alias.then_some(alias))
        });
        let read = |voice: Voice<'_>| {
            CompiledRule::read(voice.layer, voice.rule)
                .map_err(|(key, why)| (voice.rule.to_string(), key, why))
        };
        let rules: Vec<CompiledRule> = concerning.map(read).collect::<Result<_, _>>()?;
        let any = |wanted: fn(&Conditions) -> bool| rules.iter().any(|rule| wanted(&rule.conditions));
        let looks_at = (
            any(|rule| rule.path.is_some()),
            any(|rule| rule.host.is_some()),
            any(|rule| rule.command.is_some()),
        );
        let looks_within = |rule: &Rule| rule.path.is_some() || rule.host.is_some() || rule.command.is_some();
        let denies = rules.iter().map(|rule| &rule.rule).filter(|rule| rule.decision == Permission::Deny);
        let denies_within = denies.filter(|rule| looks_within(rule)).cloned().collect();
        Ok(Self { rules, denies_within, looks_at, permission_by })
    }

    /// Those that are about the call, in order.
    pub(super) fn of_call<'a>(&'a self, call: &'a CallFacts<'_>) -> impl Iterator<Item = &'a CompiledRule> {
        self.rules.iter().filter(|rule| rule.fits(call))
    }

    /// The first deny that looks into what a call does and could be about this one, were all of it known.
    pub(super) fn deny_within(&self, arguments: &Value, attended: bool) -> Option<&Arc<Rule>> {
        let could_be = |rule: &Rule| {
            rule.attended.is_none_or(|wanted| wanted == attended)
                && rule.value.as_ref().is_none_or(|value| {
                    arguments.pointer(&value.pointer).is_some_and(|found| value.test.fits(found))
                })
        };
        self.denies_within.iter().find(|rule| could_be(rule))
    }

    /// What these rules look at in a call; in one command of it where it holds a command line.
    pub(super) fn facts<'a>(
        &self,
        arguments: &'a Value,
        scopes: &[Scope],
        environment: &ConsentEnvironment,
        view: Option<View<'a>>,
    ) -> CallFacts<'a> {
        let (paths, hosts, commands) = self.looks_at;
        let base = environment.project_folder.as_deref();
        let mut facts = match view {
            Some(view) => CallFacts::of_command(arguments, base, paths, hosts, view),
            None => CallFacts::read(arguments, scopes, base, paths, hosts),
        };
        if view.is_none() && commands && looks_like_a_command(arguments).is_some() {
            facts.command = CallCommand::Unknown;
        }
        facts.attended = Some(environment.attended);
        facts
    }
}

impl<'a> CallFacts<'a> {
    fn bare(arguments: &'a Value) -> Self {
        Self {
            arguments,
            attended: None,
            paths: Vec::new(),
            scope_paths: Vec::new(),
            hosts: Vec::new(),
            command: CallCommand::None,
        }
    }

    /// As [`CallFacts::read`], for one command of a call that holds a command line.
    pub(super) fn of_command(
        arguments: &'a Value,
        base: Option<&str>,
        with_paths: bool,
        with_hosts: bool,
        view: View<'a>,
    ) -> Self {
        let mut facts = Self::bare(arguments);
        facts.command =
            view.command.map_or(CallCommand::Unknown, |command| CallCommand::Known(Subject::of(command)));
        if with_paths {
            view.paths(base, &mut facts.paths);
        }
        if with_hosts {
            view.hosts(&mut facts.hosts);
        }
        facts
    }

    /// Reads the paths and hosts of a call, where somebody asks for them. Whether a person is there stays open.
    pub(super) fn read(
        arguments: &'a Value,
        scopes: &[Scope],
        base: Option<&str>,
        with_paths: bool,
        with_hosts: bool,
    ) -> Self {
        let mut facts = Self::bare(arguments);
        if with_paths {
            Named::Path.collect(arguments, &mut |text| facts.paths.push(CallPath::read(text, base)));
        }
        if with_hosts {
            Named::Host.collect(arguments, &mut |text| facts.hosts.push(CallHost::read(text)));
        }
        for scope in scopes {
            match scope {
                Scope::Path(path) | Scope::File(path) if with_paths => {
                    facts.scope_paths.push(CallPath::read(path, base));
                }
                Scope::Host(host) if with_hosts => facts.hosts.push(CallHost::read(host)),
                Scope::Path(_) | Scope::File(_) | Scope::Host(_) | Scope::Command(_) | Scope::Tool => {}
            }
        }
        facts
    }
}
