//! What `#[tool]` says to those who misuse it.

#[test]
fn mistakes_are_named_where_they_stand() {
    trybuild::TestCases::new().compile_fail("tests/misuse/*.rs");
}
