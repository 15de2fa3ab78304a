//! `get_weather`: a simulated report (DAT-02). It says so in every form; the same city always gets the same weather.

use haft_core::path::PreparedArguments;
use haft_core::ports::Touches;
use haft_core::{
    BoxFuture, Digest, Effect, StartedCall, Tool, ToolContext, ToolDeclaration, ToolError, ToolId, ToolOutput,
};
use haft_schema::SchemaError;
use serde::Deserialize;
use serde_json::json;

use crate::arguments::arguments;

const CONDITIONS: [&str; 8] =
    ["sunny", "partly cloudy", "overcast", "light rain", "heavy rain", "thunderstorms", "snow", "fog"];

#[derive(Deserialize)]
struct Arguments<'a> {
    city: &'a str,
}

pub(super) struct Weather {
    declaration: ToolDeclaration,
}

impl Weather {
    pub(super) fn new() -> Result<Self, SchemaError> {
        let schema = json!({
            "type": "object",
            "properties": {"city": {"type": "string", "description": "Name of the city"}},
            "required": ["city"],
        });
        let description = "Get a simulated weather report for a city. The values are made up, the same for a city each time, and \
            say nothing of the real weather: tell the user so.";
        let declaration =
            ToolDeclaration::new(ToolId::builtin("data.weather"), description, schema, Effect::Read)?;
        let declaration = declaration.with_facts(|facts| {
            facts.alias = Some("get_weather".to_owned());
            facts.category = "weather".to_owned();
            facts.idempotent = true;
            facts.example = json!({"city": "Lisbon"}).as_object().cloned();
        });
        Ok(Self { declaration })
    }
}

impl Tool for Weather {
    fn declaration(&self) -> &ToolDeclaration {
        &self.declaration
    }

    fn touches(&self, _arguments: &PreparedArguments) -> Touches {
        Touches::Nothing
    }

    fn call<'a>(
        &'a self,
        call: &'a StartedCall,
        _context: &'a dyn ToolContext,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move { report(call) })
    }
}

fn report(call: &StartedCall) -> Result<ToolOutput, ToolError> {
    let Arguments { city } = arguments(call)?;
    let city = city.split_whitespace().collect::<Vec<_>>().join(" ");
    if city.is_empty() {
        return Err(ToolError::failed("`city` is empty. Name a city."));
    }
    let digest = Digest::of(city.to_lowercase().as_bytes());
    let [first, second, third, fourth, ..] = *digest.as_bytes();
    let celsius = i64::from(first % 46) - 10;
    let condition = match CONDITIONS[usize::from(second) % CONDITIONS.len()] {
        "snow" if celsius > 3 => "overcast",
        other => other,
    };
    let humidity = 30 + third % 66;
    let wind = fourth % 60;
    let text = format!(
        "Simulated weather for {city} (made up, not measured): {condition}, {celsius} °C, humidity {humidity} %, wind {wind} km/h."
    );
    Ok(ToolOutput::of_text(text).with_structured(json!({
        "city": city, "simulated": true, "condition": condition, "temperature_c": celsius,
        "humidity_percent": humidity, "wind_kmh": wind,
    })))
}
