//! `haft policy`: say what would be decided of a call and why, look for rules that never decide, run a file of cases.

use std::path::Path;

use haft_core::policy::{Decision, Outcome, Ruling, lint as lint_rules};
use haft_core::{Grant, RequestedCall, ToolId};
use haft_engine::{DryCall, dry_run};
use serde_json::{Map, Value, json};

use crate::args::PolicyCommand;
use crate::call_arguments;
use crate::calls;
use crate::commands::{grants, questions};
use crate::compose::{Chosen, Workplace};
use crate::document::FileError;
use crate::document::reader::{Problems, TableReader};
use crate::document::{self, toml};
use crate::exit::{Exit, Failure};
use crate::output::counted;
use crate::rules;
use crate::setup::Setup;
use crate::{surroundings, toolset};

/// Runs the command.
pub(crate) async fn run(setup: Setup, command: Option<PolicyCommand>) -> Result<Exit, Failure> {
    let workplace = Workplace::open(setup, "haft policy").await?;
    let chosen = workplace.choose().await?;
    match command.unwrap_or(PolicyCommand::Lint) {
        PolicyCommand::Explain { tool, args } => explain(&workplace, &chosen, &tool, args.as_deref()).await,
        PolicyCommand::Questions => questions::run(&workplace, &chosen),
        PolicyCommand::Lint => lint(&workplace, &chosen),
        PolicyCommand::Test { file } => test(&workplace, &chosen, &file),
    }
}

/// What is decided of one call.
enum Verdict {
    /// The tool is not among those that the agent has.
    Invisible {
        /// Why.
        rule: String,
        /// The reason that a rule gives.
        reason: Option<String>,
        /// The next step.
        next: String,
    },
    /// Policy was asked.
    Decided(Box<Decision>),
    /// The arguments do not fit the tool.
    Invalid(String),
}

struct Explained {
    id: ToolId,
    alias: String,
    calls_of_tool: Option<u32>,
    verdict: Verdict,
    /// What would stand in for a person's answer, and what was said before and does not.
    answered: Option<String>,
    unanswered: Vec<String>,
    /// What content from outside means to the call.
    outside: Outside,
}

/// What content from outside means to a call.
enum Outside {
    /// Nothing: the call carries nothing away, or the profile does not ask.
    Nothing,
    /// It is asked again once some has come in.
    AsksOnce,
    /// Some is in the conversation: from where.
    Here(String),
}

/// What holds around the call that is explained.
struct Around<'a> {
    attended: bool,
    /// The yeses that were given before.
    grants: &'a [Grant],
    /// Where content from outside in the conversation came from.
    outside: Option<&'a str>,
}

/// Asks policy, with nothing run and nothing stored.
fn ask(
    workplace: &Workplace,
    chosen: &Chosen,
    name: &str,
    arguments: Map<String, Value>,
    around: &Around<'_>,
) -> Result<Explained, Failure> {
    let registry = &workplace.setup.registry;
    let id = match chosen.tools.by_alias(name) {
        Some(tool) => tool.id().clone(),
        None => toolset::known(registry, name)?,
    };
    let Some(tool) = chosen.tools.by_id(&id) else {
        let verdict = match chosen.tools.hidden_by(&id) {
            Some(rule) => Verdict::Invisible {
                rule: rule.to_string(),
                reason: rule.reason.clone(),
                next: format!(
                    "change or remove the rule at {}; no allow, grant or flag lifts a deny",
                    rule.place
                ),
            },
            None => Verdict::Invisible {
                rule: format!("not among the tools of the profile `{}`", chosen.profile.name),
                reason: None,
                next: "the tool in `tools.allow` of the profile and not in its `tools.deny`".to_owned(),
            },
        };
        return Ok(Explained {
            alias: name.to_owned(),
            id,
            calls_of_tool: None,
            verdict,
            answered: None,
            unanswered: Vec::new(),
            outside: Outside::Nothing,
        });
    };
    let alias = tool.binding().alias.clone();
    let calls_of_tool = tool.binding().max_calls_per_invocation;
    let mut options = workplace.options(chosen, "call");
    options.model = workplace.setup.model_name(&chosen.profile);
    let requested = vec![RequestedCall::call(alias.clone(), arguments)];
    let mut environment = chosen.environment.clone();
    environment.attended = around.attended;
    let calls = dry_run(&workplace.engine, requested, &options, around.grants, &environment, around.outside)
        .map_err(Failure::usage)?;
    let call = calls.into_iter().next();
    let outside = match around.outside {
        _ if !chosen.profile.taint.ask || !tool.declaration().facts.carries_away() => Outside::Nothing,
        Some(source) => Outside::Here(source.to_owned()),
        None => Outside::AsksOnce,
    };
    let (mut answered, mut unanswered) = (None, Vec::new());
    if let Some(DryCall { decision: Some(decision), granted_by, grant, .. }) = &call
        && decision.outcome == Outcome::Ask
    {
        answered = granted_by.clone();
        let others = around.grants.iter().filter(|one| one.tool == id && Some(&one.id) != grant.as_ref());
        unanswered = others.map(|one| format!("{}: {}", given(one), why_not(decision))).collect();
    }
    let verdict = match call {
        Some(DryCall { decision: Some(decision), .. }) => Verdict::Decided(Box::new(decision)),
        Some(DryCall { refused: Some(refused), .. }) => Verdict::Invalid(refused.message),
        Some(_) | None => Verdict::Invalid("nothing was decided of the call".to_owned()),
    };
    Ok(Explained { id, alias, calls_of_tool, verdict, answered, unanswered, outside })
}

/// A yes that was given before.
fn given(grant: &Grant) -> String {
    match &grant.question {
        Some(_) => format!("the yes {} to {}", grant.id, grant.scope),
        None => format!("{} to {}", grant.granted_by, grant.scope),
    }
}

/// Why a yes that was given before does not answer.
fn why_not(decision: &Decision) -> &'static str {
    match &decision.by {
        _ if decision.every_time => "the call is asked every time",
        Ruling::Outside { .. } => "no yes from before content from outside came in counts",
        _ if decision.exact => "only a yes to this very call counts",
        Ruling::Rule { .. }
        | Ruling::Permission { .. }
        | Ruling::OwnQuestion
        | Ruling::Repaired { .. }
        | Ruling::Unseen { .. }
        | Ruling::Broken => "it covers other calls",
    }
}

async fn explain(
    workplace: &Workplace,
    chosen: &Chosen,
    name: &str,
    arguments: Option<&str>,
) -> Result<Exit, Failure> {
    let from_stdin = match arguments {
        Some("-") => Some(surroundings::standard_input()?),
        _ => None,
    };
    let object = from_stdin.as_deref().or(arguments);
    let schema = haft_core::Schema::empty_object();
    let values = call_arguments::read(&[], object, schema.view()).map_err(Failure::usage)?;
    let outside = workplace.outside(chosen).await?;
    let mut yeses = chosen.grants.clone();
    if let Some(row) = workplace.engine.find(&chosen.session).await? {
        yeses.extend(grants::live(workplace, &row).await?);
    }
    let attended = chosen.environment.attended;
    let around = Around { attended, grants: &yeses, outside: outside.as_deref() };
    let explained = ask(workplace, chosen, name, values, &around)?;
    if let Verdict::Invalid(message) = &explained.verdict {
        return Err(Failure::failed(message)
            .hint(format!("`haft call {} --help` shows the tool's arguments.", explained.alias)));
    }
    if workplace.setup.globals.json {
        workplace.setup.output.json(&as_json(&explained, chosen))?;
    } else {
        workplace.setup.output.foreign(&as_text(&explained))?;
    }
    Ok(Exit::Done)
}

/// The object of the contract.
fn as_json(explained: &Explained, chosen: &Chosen) -> Value {
    let budget = json!({"calls": chosen.profile.budgets.calls, "calls_of_tool": explained.calls_of_tool});
    match &explained.verdict {
        Verdict::Decided(decision) => {
            let lost: Vec<Value> = decision
                .lost
                .iter()
                .map(|lost| {
                    let rule = lost.ruling.text(&explained.alias);
                    json!({"rule": rule, "decision": lost.ruling.outcome().as_str(), "why": lost.why.text()})
                })
                .collect();
            let scopes: Vec<String> = decision.scopes.iter().map(calls::scope_word).collect();
            json!({
                "tool_id": explained.id,
                "decision": decision.outcome.as_str(),
                "visible": true,
                "callable": decision.outcome.as_str() != "deny",
                "approval": decision.outcome.as_str() == "ask",
                "reason": decision.reason(),
                "budget": budget,
                "rule": decision.rule,
                "lost": lost,
                "would_change": decision.would_change(&explained.alias),
                "question": decision.question,
                "scopes": scopes,
                "granted_by": explained.answered,
                "outside": outside_json(&explained.outside),
            })
        }
        Verdict::Invisible { rule, reason, next } => json!({
            "tool_id": explained.id,
            "decision": "deny",
            "visible": false,
            "callable": false,
            "approval": false,
            "reason": reason,
            "budget": budget,
            "rule": rule,
            "lost": [],
            "would_change": [next],
            "question": null,
            "scopes": [],
            "granted_by": null,
            "outside": outside_json(&explained.outside),
        }),
        Verdict::Invalid(message) => json!({"error": message}),
    }
}

/// `asks` once content from outside is in the conversation, and where it came from if some is.
fn outside_json(outside: &Outside) -> Value {
    match outside {
        Outside::Nothing => json!({"asks": false, "source": null}),
        Outside::AsksOnce => json!({"asks": true, "source": null}),
        Outside::Here(source) => json!({"asks": true, "source": source}),
    }
}

fn as_text(explained: &Explained) -> String {
    let mut text = format!("{} ({}): ", explained.alias, explained.id);
    let mut line = |line: String| {
        text.push_str(&line);
        text.push('\n');
    };
    match &explained.verdict {
        Verdict::Decided(decision) => {
            line(decision.outcome.as_str().to_owned());
            line(format!("  decided by    {}", decision.rule));
            for lost in &decision.lost {
                line(format!("  did not win   {}: {}", lost.ruling.text(&explained.alias), lost.why.text()));
            }
            if let Some(question) = &decision.question {
                line(format!("  question      {question}"));
                let scopes: Vec<String> = decision.scopes.iter().map(ToString::to_string).collect();
                let scopes =
                    if decision.every_time { "this call alone".to_owned() } else { scopes.join(", ") };
                line(format!("  a yes covers  {scopes}"));
            }
            if let Some(by) = &explained.answered {
                line(format!("  answered by   {by}"));
            }
            for yes in &explained.unanswered {
                line(format!("  no answer     {yes}"));
            }
            match &explained.outside {
                Outside::AsksOnce if decision.outcome != Outcome::Deny => line(
                    "  from outside  once content from outside is in the conversation, it is asked again, each time; `--yes` answers, \
                     no other yes"
                        .to_owned(),
                ),
                Outside::AsksOnce | Outside::Here(_) | Outside::Nothing => {}
            }
            for step in decision.would_change(&explained.alias) {
                line(format!("  would change  {step}"));
            }
        }
        Verdict::Invisible { rule, next, .. } => {
            line("deny, and the model does not see it".to_owned());
            line(format!("  decided by    {rule}"));
            line(format!("  would change  {next}"));
        }
        Verdict::Invalid(message) => line(format!("not decided: {message}")),
    }
    text
}

/// Rules that cannot be used were told when they were read; this tells those that never decide.
fn lint(workplace: &Workplace, chosen: &Chosen) -> Result<Exit, Failure> {
    let policy = &chosen.profile.policy;
    let findings = lint_rules(policy);
    let setup = &workplace.setup;
    if setup.globals.json {
        let rows: Vec<Value> = findings
            .iter()
            .map(|one| json!({"file": one.place.file, "line": one.place.line, "text": one.text, "hint": one.hint}))
            .collect();
        setup.output.json(&rows)?;
    } else if findings.is_empty() {
        let number = policy.voices().count();
        setup.output.line(&format!("{}: good", counted(number, "rule")))?;
    } else {
        for one in &findings {
            let hint = one.hint.as_deref().map(|hint| format!("; {hint}")).unwrap_or_default();
            setup.output.foreign_line(&format!("{}: {}{hint}", one.place, one.text))?;
        }
    }
    Ok(if findings.is_empty() { Exit::Done } else { Exit::Failed })
}

/// One case of a file.
struct Case {
    line: usize,
    tool: String,
    arguments: Map<String, Value>,
    expected: &'static str,
    attended: bool,
}

fn test(workplace: &Workplace, chosen: &Chosen, file: &Path) -> Result<Exit, Failure> {
    let name = file.display().to_string();
    let text = surroundings::text(file)
        .map_err(|reason| Failure::usage(format!("{name}: the file cannot be read: {reason}")))?;
    let cases = read_cases(&name, &text)?;
    let setup = &workplace.setup;
    let (mut rows, mut failed) = (Vec::new(), 0);
    for case in &cases {
        let around = Around { attended: case.attended, grants: &chosen.grants, outside: None };
        let explained = ask(workplace, chosen, &case.tool, case.arguments.clone(), &around)
            .map_err(|failure| failure.at(format!("{name}:{}", case.line)))?;
        let (found, rule) = match &explained.verdict {
            Verdict::Decided(decision) => (decision.outcome.as_str(), decision.rule.clone()),
            Verdict::Invisible { rule, .. } => ("deny", rule.clone()),
            Verdict::Invalid(message) => ("invalid", message.clone()),
        };
        let good = found == case.expected;
        failed += usize::from(!good);
        if setup.globals.json {
            rows.push(json!({
                "line": case.line, "tool_id": explained.id, "expected": case.expected, "decision": found, "rule": rule, "ok": good,
            }));
        } else if !good {
            let (tool, expected) = (&case.tool, case.expected);
            setup.output.foreign_line(&format!(
                "{name}:{}: `{tool}` should be `{expected}` and is `{found}`: {rule}",
                case.line
            ))?;
        }
    }
    if setup.globals.json {
        setup.output.json(&rows)?;
    } else if failed == 0 {
        setup.output.line(&format!("{}: good", counted(cases.len(), "case")))?;
    } else {
        setup.output.line(&format!("{failed} of {} failed", counted(cases.len(), "case")))?;
    }
    Ok(if failed == 0 { Exit::Done } else { Exit::Failed })
}

/// Reads `[[cases]]`: `tool`, `args`, `expect`, and `attended` where somebody is there.
fn read_cases(file: &str, text: &str) -> Result<Vec<Case>, FileError> {
    const WORDS: [&str; 3] = ["allow", "ask", "deny"];
    let tree = toml::parse(file, text)?;
    let problems = Problems::default();
    let root = TableReader::new(&tree, "", &problems);
    let mut cases = Vec::new();
    let items = match root.entry("cases").map(|entry| &entry.node.value) {
        Some(document::Value::List(items)) => items.as_slice(),
        Some(_) | None => {
            let hint = Some("for example `[[cases]]`, then `tool`, `args` and `expect`".to_owned());
            problems.add(tree.at, "there are no `[[cases]]`", hint);
            &[]
        }
    };
    for item in items {
        let table = TableReader::new(item, "cases", &problems);
        let tool = table.text("tool");
        let expected = table.word("expect", &WORDS).and_then(|at| WORDS.get(at).copied());
        let attended = table.boolean("attended").unwrap_or(false);
        let arguments = match table.entry("args") {
            None => Map::new(),
            Some(entry) => match rules::as_json(&entry.node, &problems) {
                Some(Value::Object(arguments)) => arguments,
                Some(_) | None => {
                    problems.add(entry.node.at, "`cases.args` must be a table of arguments", None);
                    Map::new()
                }
            },
        };
        for (key, missing) in
            [("tool", table.entry("tool").is_none()), ("expect", table.entry("expect").is_none())]
        {
            if missing {
                problems.add(item.at, format!("a case needs `{key}`"), None);
            }
        }
        table.finish();
        if let (Some(tool), Some(expected)) = (tool, expected) {
            cases.push(Case { line: item.at.line, tool, arguments, expected, attended });
        }
    }
    root.finish();
    problems.into_result(file)?;
    Ok(cases)
}
