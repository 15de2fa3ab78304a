//! Free text that holds none of some marks, in any case of their letters: the automaton of Aho and Corasick as rules.
//!
//! Every rule goes on at its end alone, so that a grammar that is run letter by letter needs no memory for it.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};

use super::rules::{Rules, class};

/// What a message never begins with under a grammar: blanks, and what could be a call without any mark. A model that wants to
/// write such a call is led to the marks instead.
const NO_BEGINNING: &[char] = &['{', '[', ' ', '\t', '\n', '\r'];

/// The names of rules for text without some marks.
#[derive(Debug, Clone)]
pub(super) struct Text {
    /// Any such text; it may be empty.
    pub(super) any: String,
    /// One that begins a message; it is not empty.
    pub(super) begun: String,
}

/// Text without `marks`, which may be single characters too.
fn without(marks: &[String], rules: &mut Rules) -> Text {
    let automaton = Automaton::new(marks);
    let names: Vec<String> = automaton.nodes.iter().map(|_| rules.reserve("text")).collect();
    let begins = rules.rule("mark", automaton.begins(&names));
    for (state, name) in names.iter().enumerate() {
        if !automaton.nodes[state].ends {
            rules.define(name, automaton.body(state, &begins, &names));
        }
    }
    let begun = automaton.beginning(&names);
    let begun = rules.rule("begun", begun);
    Text { any: names.into_iter().next().unwrap_or_default(), begun }
}

/// A tree of marks with a way back from each place to the longest end of it that begins a mark.
#[derive(Debug)]
struct Automaton {
    nodes: Vec<Node>,
}

#[derive(Debug, Default)]
struct Node {
    next: BTreeMap<char, usize>,
    back: usize,
    /// A mark ends here: no text gets here.
    ends: bool,
}

impl Automaton {
    fn new(marks: &[String]) -> Self {
        let mut nodes = vec![Node::default()];
        for mark in marks.iter().filter(|mark| !mark.is_empty()) {
            let mut at = 0;
            for character in mark.chars().map(|character| character.to_ascii_lowercase()) {
                at = match nodes[at].next.get(&character) {
                    Some(next) => *next,
                    None => {
                        nodes.push(Node::default());
                        let next = nodes.len() - 1;
                        nodes[at].next.insert(character, next);
                        next
                    }
                };
            }
            nodes[at].ends = true;
        }
        let mut automaton = Self { nodes };
        automaton.link();
        automaton
    }

    fn link(&mut self) {
        let mut queue: VecDeque<usize> = self.nodes[0].next.values().copied().collect();
        while let Some(at) = queue.pop_front() {
            let children: Vec<(char, usize)> =
                self.nodes[at].next.iter().map(|(character, child)| (*character, *child)).collect();
            for (character, child) in children {
                let back = self.go(self.nodes[at].back, character);
                self.nodes[child].back = back;
                self.nodes[child].ends |= self.nodes[back].ends;
                queue.push_back(child);
            }
        }
    }

    /// Where a character leads to.
    fn go(&self, mut at: usize, character: char) -> usize {
        loop {
            if let Some(next) = self.nodes[at].next.get(&character) {
                return *next;
            }
            if at == 0 {
                return 0;
            }
            at = self.nodes[at].back;
        }
    }

    /// Characters that lead somewhere else than to the beginning, from this state.
    fn known(&self, state: usize) -> BTreeSet<char> {
        let mut known = BTreeSet::new();
        let mut at = state;
        loop {
            known.extend(self.nodes[at].next.keys());
            if at == 0 {
                return known;
            }
            at = self.nodes[at].back;
        }
    }

    /// One way on for each place that some of `characters` lead to.
    fn ways(&self, state: usize, characters: &BTreeSet<char>, names: &[String]) -> Vec<String> {
        let mut targets: BTreeMap<usize, Vec<char>> = BTreeMap::new();
        for character in characters {
            targets.entry(self.go(state, *character)).or_default().push(*character);
        }
        targets
            .into_iter()
            .filter(|(target, _)| !self.nodes[*target].ends)
            .map(|(target, characters)| {
                format!("{} {}", class(both_cases(&characters), false), names[target])
            })
            .collect()
    }

    /// The end of the text, or the beginning of a mark: what every state can do whose own letters begin none.
    fn begins(&self, names: &[String]) -> String {
        let mut ways = vec!["\"\"".to_owned()];
        ways.extend(self.ways(0, &self.known(0), names));
        ways.join(" | ")
    }

    /// The first letter of a message, and what follows it.
    fn beginning(&self, names: &[String]) -> String {
        let mut known = self.known(0);
        let firsts: BTreeSet<char> =
            known.iter().copied().filter(|character| !NO_BEGINNING.contains(character)).collect();
        let mut ways = self.ways(0, &firsts, names);
        known.extend(NO_BEGINNING);
        let known: Vec<char> = known.into_iter().collect();
        ways.push(format!("{} {}", class(both_cases(&known), true), names[0]));
        ways.join(" | ")
    }

    /// The rule of a state: the end of the text, or a character and the rule of where it leads to.
    fn body(&self, state: usize, begins: &str, names: &[String]) -> String {
        let (known, first) = (self.known(state), self.known(0));
        let own: BTreeSet<char> =
            if state == 0 { BTreeSet::new() } else { known.difference(&first).copied().collect() };
        // A letter of this state's that begins a mark elsewhere leads on here.
        let plain = first.iter().all(|character| self.go(state, *character) == self.go(0, *character));
        let mut ways = if plain {
            let mut ways = self.ways(state, &own, names);
            ways.push(begins.to_owned());
            ways
        } else {
            let mut ways = vec!["\"\"".to_owned()];
            ways.extend(self.ways(state, &known, names));
            ways
        };
        let known: Vec<char> = known.into_iter().collect();
        ways.push(format!("{} {}", class(both_cases(&known), true), names[0]));
        ways.join(" | ")
    }
}

fn both_cases(characters: &[char]) -> Vec<char> {
    let mut all: Vec<char> =
        characters.iter().flat_map(|character| [*character, character.to_ascii_uppercase()]).collect();
    all.dedup();
    all
}

/// The rules of texts that were made already, by their marks.
#[derive(Debug, Default)]
pub(super) struct Texts {
    made: HashMap<Vec<String>, Text>,
}

impl Texts {
    /// Text without `marks`, which may be single characters too; each is made once.
    pub(super) fn without(&mut self, marks: &[String], rules: &mut Rules) -> Text {
        if let Some(text) = self.made.get(marks) {
            return text.clone();
        }
        let text = without(marks, rules);
        self.made.insert(marks.to_vec(), text.clone());
        text
    }
}
