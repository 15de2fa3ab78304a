//! When a server wants to be asked again: `retry-after` in seconds or as a date, or the delay in the error of Gemini.
//!
//! There is no clock in this room: a date is compared with the date of the answer itself.

use std::time::Duration;

use reqwest::header::{DATE, HeaderMap, RETRY_AFTER};
use serde_json::Value;

/// How long the server wants no further request.
pub(super) fn wish(headers: &HeaderMap, error: Option<&Value>) -> Option<Duration> {
    header(headers).or_else(|| error.and_then(retry_info))
}

fn header(headers: &HeaderMap) -> Option<Duration> {
    let value = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    if let Some(seconds) = seconds(value) {
        return Some(seconds);
    }
    let until = httpdate::parse_http_date(value).ok()?;
    let now = httpdate::parse_http_date(headers.get(DATE)?.to_str().ok()?).ok()?;
    // A date that is over asks for no wait.
    Some(until.duration_since(now).unwrap_or_default())
}

/// `google.rpc.RetryInfo` among the details of an error: `{"retryDelay": "34.07s"}`.
fn retry_info(error: &Value) -> Option<Duration> {
    let details = error.get("details")?.as_array()?;
    let delay = details.iter().find_map(|detail| detail.get("retryDelay")?.as_str())?;
    seconds(delay.strip_suffix('s')?)
}

fn seconds(text: &str) -> Option<Duration> {
    Duration::try_from_secs_f64(text.parse().ok()?).ok()
}

#[cfg(test)]
mod tests {
    use reqwest::header::HeaderValue;
    use serde_json::json;

    use super::*;

    fn of(headers: &[(reqwest::header::HeaderName, &'static str)], error: &Value) -> Option<Duration> {
        let headers =
            headers.iter().map(|(name, value)| (name.clone(), HeaderValue::from_static(value))).collect();
        wish(&headers, Some(error))
    }

    #[test]
    fn seconds_dates_and_delays_are_understood() {
        let none = json!({});
        let wait = |seconds| Some(Duration::from_secs(seconds));
        assert_eq!(of(&[(RETRY_AFTER, " 7 ")], &none), wait(7));
        assert_eq!(of(&[(RETRY_AFTER, "1.5")], &none), Some(Duration::from_millis(1500)));
        let date = "Sun, 06 Nov 1994 08:49:37 GMT";
        assert_eq!(of(&[(RETRY_AFTER, date), (DATE, "Sun, 06 Nov 1994 08:49:07 GMT")], &none), wait(30));
        assert_eq!(of(&[(RETRY_AFTER, date), (DATE, "Sun, 06 Nov 1994 09:00:00 GMT")], &none), wait(0));
        let delay = json!({"details": [{"@type": "x"}, {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "34s"}]});
        assert_eq!(of(&[], &delay), wait(34));
        assert_eq!(of(&[(RETRY_AFTER, "2")], &delay), wait(2));
        // Without the date of the answer nobody knows how long that is.
        for (headers, error) in [
            (vec![(RETRY_AFTER, date)], json!({})),
            (vec![(RETRY_AFTER, "soon")], json!({"details": [{"retryDelay": "soon"}]})),
            (vec![(RETRY_AFTER, "-1")], json!({"details": 3})),
            (vec![(RETRY_AFTER, "1e300")], json!({"details": [{"retryDelay": "NaNs"}]})),
        ] {
            assert_eq!(of(&headers, &error), None, "{headers:?} {error}");
        }
    }
}
