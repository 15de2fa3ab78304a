//! What `#[tool]` takes, and what it says to those who misuse it.

#[test]
fn mistakes_are_named_where_they_stand() {
    let cases = trybuild::TestCases::new();
    cases.pass("tests/ui/pass/*.rs");
    cases.compile_fail("tests/ui/fail/*.rs");
}
