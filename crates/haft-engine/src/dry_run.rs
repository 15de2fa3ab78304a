//! What would happen: decode, gate, prepare and decide, with nothing run and nothing stored.

use haft_core::capability::Pledges;
use haft_core::gate::Admission;
use haft_core::path::{InjectedValues, Refused, Resolution, Standing};
use haft_core::policy::Decision;
use haft_core::snapshot::{CompileError, compile};
use haft_core::turn::TurnAliases;
use haft_core::{
    ConsentId, Gate, GrantId, InvocationId, Question, RequestedCall, RunId, ToolRegistry, ToolTurnContract,
};
use serde_json::Value;

use crate::engine::Engine;
use crate::run::RunOptions;
use haft_core::consent::{ConsentEnvironment, Opening};
use haft_core::grant::Grant;

/// One call of a dry run.
#[derive(Debug, Clone, PartialEq)]
pub struct DryCall {
    /// The name that the model wrote.
    pub alias: String,
    /// Canonical arguments, or as far as they were read.
    pub arguments: Value,
    /// What policy decided; none if it was not asked.
    pub decision: Option<Decision>,
    /// Who would stand in for an answer: a grant, `--yes`; none if somebody would be asked, or nobody need be.
    pub granted_by: Option<String>,
    /// The grant that would.
    pub grant: Option<GrantId>,
    /// The question that would be put.
    pub question: Option<Question>,
    /// Why it would not run.
    pub refused: Option<Refused>,
}

/// Walks the path up to the decision for a batch. Budgets count inside the batch alone. `outside` is where content from outside in
/// the conversation came from ([`outside_of`](crate::outside_of)).
pub fn dry_run(
    engine: &Engine,
    requested: Vec<RequestedCall>,
    options: &RunOptions,
    grants: &[Grant],
    environment: &ConsentEnvironment,
    outside: Option<&str>,
) -> Result<Vec<DryCall>, CompileError> {
    let registry: &ToolRegistry = engine.registry();
    let invocation = InvocationId::new("i_dry");
    let tools = compile(invocation.clone(), &options.profile, registry)?;
    let contract = ToolTurnContract::all(&tools);
    let attempts = TurnAliases::new(&tools, &contract, &invocation, 1).decode(requested);
    let injected = InjectedValues {
        project_id: environment.project.as_ref().map(ToString::to_string),
        model: options.model.clone(),
    };
    let (run, session) = (RunId::new("r_dry"), haft_core::SessionId::new("s_dry"));
    let now = engine.parts.clock.now();
    let mut all = grants.to_vec();
    if !environment.attended {
        let fresh = || GrantId::new("g_dry");
        all.extend(Pledges::open(&options.profile.unattended, &run, now, fresh).1);
    }
    let standing = Standing {
        grants: &all,
        yes: options.yes,
        approval: options.profile.approval,
        run: &run,
        session: &session,
        now,
    };
    let admissions = Gate::new(tools).admit(&contract, attempts);
    Ok(admissions
        .into_iter()
        .map(|admission| {
            let admitted = match admission {
                Admission::Refused(refused) => return of_refused(*refused),
                Admission::Admitted(admitted) => admitted,
            };
            let prepared = match admitted.prepare(&injected) {
                Ok(prepared) => prepared,
                Err(refused) => return of_refused(*refused),
            };
            let mut decided = prepared.decide(environment);
            if options.profile.taint.ask
                && let Some(source) = outside
            {
                decided = decided.after_outside(source);
            }
            if options.profile.repairs.ask {
                decided = decided.after_repairs();
            }
            let alias = decided.call().alias.clone();
            let arguments = decided.arguments().value().clone();
            let decision = Some(decided.decision().clone());
            let base = DryCall {
                alias,
                arguments,
                decision,
                granted_by: None,
                grant: None,
                question: None,
                refused: None,
            };
            match decided.resolve(standing) {
                Resolution::Authorized(call) => {
                    let (by, grant) = (call.granted_by().map(str::to_owned), call.grant().cloned());
                    DryCall { granted_by: by, grant, ..base }
                }
                Resolution::Asking(asking) => {
                    let question = asking.question(Opening {
                        id: ConsentId::new("q_dry"),
                        session: session.clone(),
                        run: run.clone(),
                        invocation: invocation.clone(),
                        folder: environment.project_folder.clone(),
                        deadline: None,
                    });
                    DryCall { question: Some(question), ..base }
                }
                Resolution::Refused(refused) => DryCall { refused: Some(*refused), ..base },
            }
        })
        .collect())
}

fn of_refused(refused: Refused) -> DryCall {
    DryCall {
        alias: refused.alias.clone(),
        arguments: refused.arguments.clone(),
        decision: refused.decision.clone(),
        granted_by: None,
        grant: None,
        question: None,
        refused: Some(refused),
    }
}
