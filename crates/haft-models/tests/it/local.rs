//! Servers on this machine: found on their ports, in order, and waited for no longer than a person would.

use std::time::Duration;

use haft_models::local_models;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::time::timeout;

/// A server that reads a request and gives this answer, or never one; and its port.
async fn server(answer: Option<&'static str>) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut request = vec![0; 1024];
        let length = stream.read(&mut request).await.unwrap();
        assert!(request[..length].starts_with(b"GET /v1/models HTTP/1.0\r\n"));
        match answer {
            Some(answer) => stream.write_all(answer.as_bytes()).await.unwrap(),
            None => std::future::pending().await,
        }
    });
    port
}

/// A port on which nobody listens any more.
async fn closed() -> u16 {
    TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap().port()
}

#[tokio::test]
async fn what_servers_offer_is_named_in_the_order_of_the_ports() {
    let two = "HTTP/1.0 200 OK\r\n\r\n{\"data\": [{\"id\": \"qwen\"}, {\"id\": \"llama:8b\"}]}";
    let one = "HTTP/1.0 200 OK\r\n\r\n{\"data\": [{\"id\": \"phi\"}]}";
    let web = "HTTP/1.0 200 OK\r\n\r\n<html>";
    let (first, nobody, page, last) =
        (server(Some(two)).await, closed().await, server(Some(web)).await, server(Some(one)).await);
    assert_eq!(
        local_models(&[first, nobody, page, last]).await,
        [
            format!("http://127.0.0.1:{first}/v1#qwen"),
            format!("http://127.0.0.1:{first}/v1#llama:8b"),
            format!("http://127.0.0.1:{last}/v1#phi"),
        ]
    );
}

#[tokio::test]
async fn a_silent_server_is_not_waited_for() {
    let silent = server(None).await;
    let found = timeout(Duration::from_secs(20), local_models(&[silent])).await;
    assert_eq!(found, Ok(Vec::new()));
}
