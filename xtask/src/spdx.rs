//! Licence expressions: `MIT OR Apache-2.0`, `(A AND B) OR C`, `X WITH exception`, and the old `A/B`.
//! It answers one question, whether the expression can be satisfied by licences that are allowed.

/// Deepest nesting of parentheses that is read; real expressions have two or three.
const DEEPEST: usize = 32;

/// Whether `expression` can be satisfied with licences for which `allowed` is true. `allowed` is asked with one
/// licence, with its exception if it has one (`Apache-2.0 WITH LLVM-exception`). `None`: the text is no expression.
pub(crate) fn satisfied(expression: &str, allowed: impl Fn(&str) -> bool) -> Option<bool> {
    let spaced = expression.replace('/', " OR ").replace('(', " ( ").replace(')', " ) ");
    let mut words: Vec<&str> = spaced.split_whitespace().collect();
    words.reverse();
    let mut parser = Parser { words, allowed: &allowed };
    let answer = parser.either(0)?;
    parser.words.is_empty().then_some(answer)
}

struct Parser<'a> {
    /// What is still to be read, the next word last.
    words: Vec<&'a str>,
    allowed: &'a dyn Fn(&str) -> bool,
}

impl<'a> Parser<'a> {
    fn either(&mut self, depth: usize) -> Option<bool> {
        let mut answer = self.both(depth)?;
        while self.take("OR") {
            answer |= self.both(depth)?;
        }
        Some(answer)
    }

    fn both(&mut self, depth: usize) -> Option<bool> {
        let mut answer = self.one(depth)?;
        while self.take("AND") {
            answer &= self.one(depth)?;
        }
        Some(answer)
    }

    fn one(&mut self, depth: usize) -> Option<bool> {
        if self.take("(") {
            if depth == DEEPEST {
                return None;
            }
            let answer = self.either(depth + 1)?;
            return self.take(")").then_some(answer);
        }
        let licence = self.name()?;
        if self.take("WITH") {
            let exception = self.name()?;
            return Some((self.allowed)(&format!("{licence} WITH {exception}")));
        }
        Some((self.allowed)(licence))
    }

    fn name(&mut self) -> Option<&'a str> {
        self.words.pop().filter(|word| !matches!(*word, "OR" | "AND" | "WITH" | "(" | ")"))
    }

    fn take(&mut self, wanted: &str) -> bool {
        let found = self.words.last().is_some_and(|word| *word == wanted);
        if found {
            self.words.pop();
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(expression: &str) -> Option<bool> {
        satisfied(expression, |licence| matches!(licence, "MIT" | "ISC" | "Apache-2.0 WITH LLVM-exception"))
    }

    #[test]
    fn expressions_are_understood() {
        assert_eq!(ask("MIT"), Some(true));
        assert_eq!(ask("GPL-3.0"), Some(false));
        assert_eq!(ask("GPL-3.0 OR MIT"), Some(true));
        assert_eq!(ask("GPL-3.0 AND MIT"), Some(false));
        assert_eq!(ask("GPL-3.0/MIT"), Some(true));
        assert_eq!(ask("Apache-2.0 / MIT"), Some(true));
        assert_eq!(ask("Apache-2.0 WITH LLVM-exception"), Some(true));
        assert_eq!(ask("Apache-2.0 WITH other-exception"), Some(false));
        assert_eq!(ask("ISC AND (GPL-3.0 OR MIT)"), Some(true));
        assert_eq!(ask("(GPL-3.0 OR MIT) AND GPL-2.0"), Some(false));
        assert_eq!(ask("GPL-3.0 OR MIT AND GPL-2.0"), Some(false), "AND binds tighter");
    }

    #[test]
    fn other_text_is_refused() {
        for text in ["", "OR", "MIT OR", "MIT MIT", "(MIT", "MIT)", "MIT WITH", "()", &"(".repeat(100_000)] {
            assert_eq!(ask(text), None, "{text:.20}");
        }
    }
}
