//! `calculator`: arithmetic, exact where it can be (DAT-01). [`expression`] guards and rewrites what the model wrote,
//! [`evaluation`] reckons it on a thread that can be stopped.

mod evaluation;
mod expression;

use haft_core::path::PreparedArguments;
use haft_core::ports::Touches;
use haft_core::{
    BoxFuture, Effect, ErrorCode, StartedCall, Tool, ToolContext, ToolDeclaration, ToolError, ToolId,
    ToolOutput,
};
use haft_schema::SchemaError;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::arguments::arguments;
use evaluation::Answer;
use expression::Fault;

#[derive(Deserialize)]
struct Arguments<'a> {
    expression: &'a str,
}

pub(super) struct Calculator {
    declaration: ToolDeclaration,
}

impl Calculator {
    pub(super) fn new() -> Result<Self, SchemaError> {
        let schema = json!({
            "type": "object",
            "properties": {
                "expression": {
                    "type": "string",
                    "description": "What to calculate, at most 500 characters, such as `(3 + 4) * 2^10` or `15% of 80`",
                },
            },
            "required": ["expression"],
        });
        let description = "Calculate an arithmetic expression. Whole numbers and fractions are exact, whatever their size; what \
            must be rounded is marked so. Knows + - * / ^ (or **) mod !, parentheses, % of, sqrt, abs, round, floor, ceil, \
            min, max, sum, pow, log, ln, sin and kin, pi, e, and units as in `5 km to miles`. One expression a call; no \
            variables of a programming language.";
        let declaration =
            ToolDeclaration::new(ToolId::builtin("data.calculator"), description, schema, Effect::Read)?;
        let declaration = declaration.with_facts(|facts| {
            facts.alias = Some("calculator".to_owned());
            facts.category = "data".to_owned();
            facts.idempotent = true;
            facts.example = json!({"expression": "(3 + 4) * 2^10"}).as_object().cloned();
        });
        Ok(Self { declaration })
    }
}

impl Tool for Calculator {
    fn declaration(&self) -> &ToolDeclaration {
        &self.declaration
    }

    fn touches(&self, _arguments: &PreparedArguments) -> Touches {
        Touches::Nothing
    }

    fn call<'a>(
        &'a self,
        call: &'a StartedCall,
        context: &'a dyn ToolContext,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(calculate(call, context))
    }
}

async fn calculate(call: &StartedCall, context: &dyn ToolContext) -> Result<ToolOutput, ToolError> {
    let Arguments { expression } = arguments(call)?;
    let guarded = expression::guard(expression).map_err(|fault| told(expression, &fault))?;
    let answer = evaluation::run(guarded, context).await.map_err(|fault| told(expression, &fault))?;
    let Answer { text, exact } = answer;
    let result = number(&text).unwrap_or_else(|| json!(text));
    let shown = if exact { text } else { format!("{text} (rounded)") };
    Ok(ToolOutput::of_text(shown).with_structured(json!({"result": result, "exact": exact})))
}

/// The result as a JSON number, if that says the same to the last digit.
fn number(text: &str) -> Option<Value> {
    if let Ok(whole) = text.parse::<i64>() {
        return Some(json!(whole));
    }
    let float = text.parse::<f64>().ok()?;
    (float.to_string() == text).then(|| json!(float))
}

fn told(expression: &str, fault: &Fault) -> ToolError {
    let code = ErrorCode::new(match fault {
        Fault::TooSlow => "data.calculation_too_long",
        Fault::Stopped => return ToolError::new(ErrorCode::CALL_CANCELLED, "The calculation was stopped."),
        Fault::Refused(_) | Fault::Failed(_) => "data.calculation_failed",
    });
    let shown: String = expression.chars().take(100).collect();
    let cut = if shown.len() < expression.len() { "…" } else { "" };
    ToolError::new(code, format!("`{shown}{cut}` cannot be calculated: {fault}"))
}
