//! The example of an embedding program works as its text says.

#[expect(dead_code, reason = "the test runs the work without the example's own main")]
#[path = "../examples/embed.rs"]
mod embed;

#[tokio::test]
async fn the_example_calls_its_tool_and_prints_the_journal() {
    let told = embed::work().await.unwrap();
    let lines: Vec<&str> = told.lines().collect();
    assert_eq!(
        lines[..2],
        [
            r#"done: {"thing":"lamp","warehouse":"main","pieces":7}"#,
            "failed: There is no `moon` in stock; try `lamp`."
        ]
    );
    assert!(lines[2].starts_with("failed: The call of `stock` cannot run: "), "{}", lines[2]);
    let kinds: Vec<&str> = lines[3..].iter().filter_map(|line| line.split_whitespace().nth(1)).collect();
    let run = |steps: &[&'static str], end| {
        [&["run_started", "context_assembled", "tool_call_requested"], steps, &[end, "run_ended"]].concat()
    };
    let expected = [
        run(&["tool_call_started"], "tool_call_completed"),
        run(&["tool_call_started"], "tool_call_failed"),
        run(&[], "tool_call_failed"),
    ];
    assert_eq!(kinds, expected.concat());
    assert!(include_str!("../examples/embed.rs").lines().count() < 60);
}
