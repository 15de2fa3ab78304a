//! The data tools of B (DAT-01 to DAT-04): a calculator, work on text and on JSON, and a simulated weather report.
//!
//! Pure but for the calculator, which reckons on a thread of its own so that no expression can harm or hold up its caller.

mod calculator;
mod json_process;
mod text_process;
mod weather;

use std::sync::Arc;

use haft_core::Tool;
use haft_schema::SchemaError;

/// The family, in the order of the source: calculator, text_process, json_process, get_weather.
///
/// # Errors
/// [`SchemaError`] if a declaration carries a schema that is none.
pub fn tools() -> Result<Vec<Arc<dyn Tool>>, SchemaError> {
    Ok(vec![
        Arc::new(calculator::Calculator::new()?),
        Arc::new(text_process::TextProcess::new()?),
        Arc::new(json_process::JsonProcess::new()?),
        Arc::new(weather::Weather::new()?),
    ])
}
