//! GBNF, llama.cpp's grammars, as far as the library writes it: read, matched against texts, and walked at random.

#![allow(dead_code, reason = "each test binary uses its own part")]
#![allow(clippy::expect_used, clippy::panic, reason = "a broken grammar fails the test")]

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

/// A grammar that was read.
#[derive(Debug)]
pub(crate) struct Gbnf {
    rules: HashMap<String, Rc<Node>>,
}

#[derive(Debug)]
enum Node {
    Class { ranges: Vec<(char, char)>, except: bool },
    Rule(String),
    Sequence(Vec<Rc<Node>>),
    Choice(Vec<Rc<Node>>),
    Repeat { node: Rc<Node>, least: u32, most: Option<u32> },
}

impl Gbnf {
    pub(crate) fn read(text: &str) -> Self {
        let mut rules = HashMap::new();
        for line in text.lines() {
            let (name, body) = line.split_once(" ::= ").unwrap_or_else(|| panic!("no rule: {line}"));
            assert!(name.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '-'), "{name}");
            let letters: Vec<char> = body.chars().collect();
            let mut reader = Reader { letters: &letters, at: 0 };
            let node = reader.choice();
            assert_eq!(reader.at, letters.len(), "{line}");
            assert!(rules.insert(name.to_owned(), node).is_none(), "{name} is defined twice");
        }
        let grammar = Self { rules };
        for node in grammar.rules.values() {
            grammar.check(node);
        }
        grammar
    }

    /// Every rule that is named exists.
    fn check(&self, node: &Node) {
        match node {
            Node::Class { .. } => {}
            Node::Rule(name) => assert!(self.rules.contains_key(name), "no rule {name}"),
            Node::Sequence(nodes) | Node::Choice(nodes) => nodes.iter().for_each(|node| self.check(node)),
            Node::Repeat { node, .. } => self.check(node),
        }
    }

    /// Whether the whole text fits, run as llama.cpp does: every way on at once, letter by letter.
    pub(crate) fn fits(&self, text: &str) -> bool {
        let mut open = HashSet::new();
        self.ways_behind(text).into_iter().for_each(|way| self.expand(&mut open, way, None));
        open.contains(&None)
    }

    /// Whether the text can be the beginning of one that fits.
    pub(crate) fn begins(&self, text: &str) -> bool {
        !self.ways_behind(text).is_empty()
    }

    /// The ways on behind a text.
    fn ways_behind(&self, text: &str) -> Vec<Option<Rc<Stack>>> {
        let mut ways: Vec<Option<Rc<Stack>>> = vec![Some(Rc::new(Stack { node: self.root(), below: None }))];
        for next in text.chars() {
            let mut open = HashSet::new();
            ways.into_iter().for_each(|way| self.expand(&mut open, way, Some(next)));
            ways = open.into_iter().flatten().map(|way| way.below.clone()).collect();
        }
        ways
    }

    fn root(&self) -> Rc<Node> {
        Rc::new(Node::Rule("root".to_owned()))
    }

    /// Replaces what is on top until `next` is taken there, or nothing is left.
    fn expand(&self, ways: &mut HashSet<Option<Rc<Stack>>>, first: Option<Rc<Stack>>, next: Option<char>) {
        let mut seen = HashSet::new();
        let mut open = vec![first];
        while let Some(way) = open.pop() {
            let Some(stack) = &way else {
                ways.insert(None);
                continue;
            };
            if refuses(&stack.node, next) || !seen.insert(way.clone()) {
                continue;
            }
            let below = stack.below.clone();
            let on = |node: &Rc<Node>, below: Option<Rc<Stack>>| {
                Some(Rc::new(Stack { node: Rc::clone(node), below }))
            };
            match &*stack.node {
                Node::Class { .. } => {
                    ways.insert(way);
                }
                Node::Rule(name) => open.push(on(&self.rules[name], below)),
                Node::Choice(nodes) => nodes
                    .iter()
                    .filter(|node| !refuses(node, next))
                    .for_each(|node| open.push(on(node, below.clone()))),
                Node::Sequence(nodes) => {
                    open.push(nodes.iter().rev().fold(below, |below, node| on(node, below)));
                }
                Node::Repeat { node, least, most } => {
                    if *least == 0 {
                        open.push(below.clone());
                    }
                    if *most != Some(0) {
                        let rest = Rc::new(Node::Repeat {
                            node: Rc::clone(node),
                            least: least.saturating_sub(1),
                            most: most.map(|most| most - 1),
                        });
                        open.push(on(node, on(&rest, below)));
                    }
                }
            }
        }
    }

    /// A text that fits, chosen by `dice`, which gives a number below its argument.
    pub(crate) fn walk(&self, dice: &mut dyn FnMut(usize) -> usize) -> String {
        let mut out = String::new();
        self.walk_node(&self.root(), dice, &mut out, 0);
        out
    }

    fn walk_node(&self, node: &Node, dice: &mut dyn FnMut(usize) -> usize, out: &mut String, depth: usize) {
        match node {
            Node::Class { ranges, except: false } => {
                let (from, to) = ranges[dice(ranges.len())];
                let span = (to as usize) - (from as usize) + 1;
                out.push(char::from_u32(from as u32 + dice(span) as u32).unwrap_or(from));
            }
            Node::Class { ranges, except: true } => {
                let letters = "ab <>/{}[]()\"'`|=:,\n\\_-x]>ü工具｜>&";
                let letters: Vec<char> =
                    letters.chars().filter(|letter| in_class(ranges, true, *letter)).collect();
                out.push(letters[dice(letters.len())]);
            }
            Node::Rule(name) => self.walk_node(&self.rules[name], dice, out, depth + 1),
            Node::Sequence(nodes) => nodes.iter().for_each(|node| self.walk_node(node, dice, out, depth + 1)),
            Node::Choice(nodes) => {
                // The first way is the shortest one.
                let index = if depth > 240 { 0 } else { dice(nodes.len()) };
                self.walk_node(&nodes[index], dice, out, depth + 1);
            }
            Node::Repeat { node, least, most } => {
                let room = most.map_or(3, |most| (most - least).min(3)) as usize;
                let times = *least as usize + if depth > 200 { 0 } else { dice(room + 1) };
                (0..times).for_each(|_| self.walk_node(node, dice, out, depth + 1));
            }
        }
    }
}

/// Whether a node plainly begins with another letter than `next`.
fn refuses(node: &Node, next: Option<char>) -> bool {
    match (node, next) {
        (Node::Class { ranges, except }, Some(next)) => !in_class(ranges, *except, next),
        (Node::Class { .. }, None) => true,
        (Node::Sequence(nodes), _) => nodes.first().is_some_and(|node| refuses(node, next)),
        (Node::Rule(_) | Node::Choice(_) | Node::Repeat { .. }, _) => false,
    }
}

fn in_class(ranges: &[(char, char)], except: bool, character: char) -> bool {
    ranges.iter().any(|(from, to)| (*from..=*to).contains(&character)) != except
}

/// What is still wanted, the next thing on top.
#[derive(Debug)]
struct Stack {
    node: Rc<Node>,
    below: Option<Rc<Stack>>,
}

impl PartialEq for Stack {
    fn eq(&self, other: &Self) -> bool {
        same(&self.node, &other.node) && self.below == other.below
    }
}

impl Eq for Stack {}

impl std::hash::Hash for Stack {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        match &*self.node {
            Node::Repeat { node, least, .. } => (Rc::as_ptr(node), *least).hash(state),
            _ => Rc::as_ptr(&self.node).hash(state),
        }
        self.below.is_some().hash(state);
    }
}

/// The same node; counters of repetitions are nodes of their own.
fn same(left: &Rc<Node>, right: &Rc<Node>) -> bool {
    Rc::ptr_eq(left, right)
        || match (&**left, &**right) {
            (
                Node::Repeat { node: one, least: one_least, most: one_most },
                Node::Repeat { node: two, least: two_least, most: two_most },
            ) => Rc::ptr_eq(one, two) && one_least == two_least && one_most == two_most,
            _ => false,
        }
}

struct Reader<'a> {
    letters: &'a [char],
    at: usize,
}

impl Reader<'_> {
    fn peek(&self) -> Option<char> {
        self.letters.get(self.at).copied()
    }

    fn next(&mut self) -> char {
        self.at += 1;
        self.letters[self.at - 1]
    }

    fn blanks(&mut self) {
        while self.peek() == Some(' ') {
            self.at += 1;
        }
    }

    fn choice(&mut self) -> Rc<Node> {
        let mut ways = vec![self.sequence()];
        while self.peek() == Some('|') {
            self.at += 1;
            ways.push(self.sequence());
        }
        if ways.len() == 1 { ways.remove(0) } else { Rc::new(Node::Choice(ways)) }
    }

    fn sequence(&mut self) -> Rc<Node> {
        let mut nodes = Vec::new();
        loop {
            self.blanks();
            let node = match self.peek() {
                None | Some('|' | ')') => return Rc::new(Node::Sequence(nodes)),
                Some('"') => self.literal(),
                Some('[') => self.class(),
                Some('(') => {
                    self.at += 1;
                    let node = self.choice();
                    assert_eq!(self.next(), ')');
                    node
                }
                Some(_) => {
                    let from = self.at;
                    while self.peek().is_some_and(|letter| letter.is_ascii_alphanumeric() || letter == '-') {
                        self.at += 1;
                    }
                    assert!(self.at > from, "{:?}", self.letters[from..].iter().collect::<String>());
                    Rc::new(Node::Rule(self.letters[from..self.at].iter().collect()))
                }
            };
            nodes.push(self.repeated(node));
        }
    }

    fn repeated(&mut self, node: Rc<Node>) -> Rc<Node> {
        let (least, most) = match self.peek() {
            Some('?') => (0, Some(1)),
            Some('*') => (0, None),
            Some('+') => (1, None),
            Some('{') => {
                let close = self.letters[self.at..].iter().position(|letter| *letter == '}').expect("}");
                let inside: String = self.letters[self.at + 1..self.at + close].iter().collect();
                self.at += close;
                let number = |text: &str| text.parse::<u32>().expect("a number");
                match inside.split_once(',') {
                    None => (number(&inside), Some(number(&inside))),
                    Some((least, most)) => (number(least), Some(number(most))),
                }
            }
            _ => return node,
        };
        self.at += 1;
        Rc::new(Node::Repeat { node, least, most })
    }

    fn literal(&mut self) -> Rc<Node> {
        self.at += 1;
        let mut nodes = Vec::new();
        while self.peek() != Some('"') {
            let letter = self.letter();
            nodes.push(Rc::new(Node::Class { ranges: vec![(letter, letter)], except: false }));
        }
        self.at += 1;
        Rc::new(Node::Sequence(nodes))
    }

    fn class(&mut self) -> Rc<Node> {
        self.at += 1;
        let except = self.peek() == Some('^');
        self.at += usize::from(except);
        let mut ranges = Vec::new();
        while self.peek() != Some(']') {
            let from = self.letter();
            let is_range = self.peek() == Some('-') && self.letters.get(self.at + 1) != Some(&']');
            let to = if is_range {
                self.at += 1;
                self.letter()
            } else {
                from
            };
            ranges.push((from, to));
        }
        self.at += 1;
        Rc::new(Node::Class { ranges, except })
    }

    fn letter(&mut self) -> char {
        let letter = self.next();
        if letter != '\\' {
            return letter;
        }
        let digits = match self.next() {
            'n' => return '\n',
            'r' => return '\r',
            't' => return '\t',
            'x' => 2,
            'u' => 4,
            'U' => 8,
            plain @ ('"' | '\\' | '[' | ']') => return plain,
            other => panic!("unknown escape {other}"),
        };
        let code: String = (0..digits).map(|_| self.next()).collect();
        char::from_u32(u32::from_str_radix(&code, 16).expect("hex")).expect("a character")
    }
}
