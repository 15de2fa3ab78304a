//! The laws that types carry: each file in `laws/` breaks one and must not compile (design, "The one path of a call").

#[test]
fn breaking_a_law_does_not_compile() {
    trybuild::TestCases::new().compile_fail("tests/laws/*.rs");
}
