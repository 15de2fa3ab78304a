//! Why a run is ended before its model is done: rounds, a budget, or no progress. One reason, three texts: for the person, for the
//! model that is asked to sum up, and a stable code.

use haft_core::ErrorCode;
use haft_core::budget::Resource;
use haft_core::streak::NoProgress;

/// Why no further turn with tools is given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Ending {
    /// All rounds are used up (GAT-06).
    Rounds(u32),
    /// A budget is used up, or what is left of it is kept for the last turn.
    Budget(Resource),
    /// The run goes round in circles.
    NoProgress(NoProgress),
}

impl Ending {
    /// The stable code.
    pub(crate) fn code(&self) -> ErrorCode {
        match self {
            Self::Rounds(_) => ErrorCode::MAX_TOOL_ROUNDS,
            Self::Budget(Resource::Calls | Resource::OutputBytes) => ErrorCode::BUDGET_EXHAUSTED,
            Self::Budget(Resource::WallTime | Resource::ModelTokens | Resource::Money) => {
                ErrorCode::RUN_BUDGET_EXHAUSTED
            }
            Self::NoProgress(_) => ErrorCode::NO_PROGRESS,
        }
    }

    /// What a person should know, and the next step.
    pub(crate) fn message(&self) -> String {
        match self {
            Self::Rounds(rounds) => format!(
                "The model used all {rounds} rounds and still wants to call tools. Raise `budget.rounds` in the profile, or ask for less at once."
            ),
            Self::Budget(resource @ (Resource::Calls | Resource::OutputBytes)) => format!(
                "The run was ended because {} is used up. Raise `{}` in the profile, or ask for less at once.",
                resource.noun(),
                resource.key()
            ),
            Self::Budget(resource @ (Resource::WallTime | Resource::ModelTokens | Resource::Money)) => {
                format!(
                    "The run was ended because {} is nearly used up. Raise `{}` in the profile, or ask for less at once.",
                    resource.noun(),
                    resource.key()
                )
            }
            Self::NoProgress(why) => format!(
                "The run was ended because it made no progress: {why}. What was done before stays. Say what should be done otherwise, or raise `{}` in the profile.",
                why.key()
            ),
        }
    }

    /// What the model is told in its last turn.
    pub(crate) fn note(&self) -> String {
        let why = match self {
            Self::Rounds(_) => "all rounds of this run are used up".to_owned(),
            Self::Budget(resource) => format!("{} is used up", resource.noun()),
            Self::NoProgress(why) => why.to_string(),
        };
        format!(
            "(Note from the host, not from the person: this is your last answer in this run, because {why}. No tool can be called any more. Say in a few sentences what was done, what you found out, and what is left to do.)"
        )
    }
}
