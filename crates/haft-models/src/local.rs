//! Model servers on this machine: who answers on the ports that they usually take (design: models).
//!
//! Only loopback is asked, each port for at most 150 ms, all at once. Nothing but the list of models is read, and no key is sent.

use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

/// The ports that local model servers usually take: Ollama, LM Studio, llama.cpp, vLLM.
pub const LOCAL_PORTS: [u16; 4] = [11434, 1234, 8080, 8000];

/// How long one port may take.
const PATIENCE: Duration = Duration::from_millis(150);

/// Longest answer that is read, in bytes.
const LONGEST_ANSWER: u64 = 1024 * 1024;

/// The models that OpenAI-compatible servers on these ports of loopback offer, as `--model` takes them
/// (`http://127.0.0.1:PORT/v1#NAME`), in the order of the ports. A port that is closed, silent for 150 ms or speaks something
/// else offers none.
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// assert_eq!(haft_models::local_models(&[]).await, Vec::<String>::new());
/// # });
/// ```
pub async fn local_models(ports: &[u16]) -> Vec<String> {
    let asked: Vec<_> = ports.iter().map(|port| tokio::spawn(timeout(PATIENCE, models_of(*port)))).collect();
    let mut found = Vec::new();
    for one in asked {
        if let Ok(Ok(Some(mut models))) = one.await {
            found.append(&mut models);
        }
    }
    found
}

/// The models of the server on `port`; none if nobody there speaks the protocol.
async fn models_of(port: u16) -> Option<Vec<String>> {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).await.ok()?;
    // HTTP/1.0, so that the answer comes in one piece and ends with the connection.
    let request =
        format!("GET /v1/models HTTP/1.0\r\nHost: 127.0.0.1:{port}\r\nAccept: application/json\r\n\r\n");
    stream.write_all(request.as_bytes()).await.ok()?;
    let mut answer = Vec::new();
    stream.take(LONGEST_ANSWER).read_to_end(&mut answer).await.ok()?;
    let names = names(&String::from_utf8_lossy(&answer))?;
    Some(names.into_iter().map(|name| format!("http://127.0.0.1:{port}/v1#{name}")).collect())
}

/// The names in the body of an HTTP answer.
fn names(answer: &str) -> Option<Vec<String>> {
    let (_, body) = answer.split_once("\r\n\r\n")?;
    let value: Value = serde_json::from_str(body.trim()).ok()?;
    let models = value.get("data")?.as_array()?;
    Some(models.iter().filter_map(|model| model.get("id")?.as_str().map(str::to_owned)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn models_are_named_by_a_server_that_speaks_the_protocol_alone() {
        let answer = "HTTP/1.0 200 OK\r\nContent-Type: application/json\r\n\r\n{\"data\": [{\"id\": \"qwen\"}, {\"x\": 1}]}";
        assert_eq!(names(answer), Some(vec!["qwen".to_owned()]));
        for other in
            ["", "SSH-2.0-x\r\n", "HTTP/1.0 200 OK\r\n\r\n<html>", "HTTP/1.0 404 x\r\n\r\n{\"error\": 1}"]
        {
            assert_eq!(names(other), None, "{other}");
        }
    }
}
