//! The walk through the tree: every command in it, whatever it stands in.

use brush_parser::ast::{
    AndOr, AssignmentValue, Command, CommandPrefixOrSuffixItem, CompoundCommand, CompoundList,
    ExtendedTestExpr, FunctionDefinition, IoFileRedirectKind, IoFileRedirectTarget, IoRedirect, Pipeline,
    Program, RedirectList, SeparatorOperator, SimpleCommand as Simple,
};

use crate::danger::Danger;
use crate::line::{CommandLine, Doubt, Redirect, SimpleCommand, Word};
use crate::programs;
use crate::read::{self, MOST_COMMANDS};
use crate::through::{self, Runs};
use crate::word::{self, ReadWord};

/// Deepest nesting of texts that shells run inside one another.
const DEEPEST: usize = 12;

/// What was found so far.
#[derive(Default)]
pub(crate) struct Walk {
    line: CommandLine,
    depth: usize,
    /// Bytes of nested texts that were read, against texts that nest in many places.
    read: usize,
    /// The command stands behind a `|`: what it reads is made by another.
    piped: bool,
    /// Functions that are being defined.
    functions: Vec<String>,
}

impl Walk {
    pub(crate) fn into_line(self) -> CommandLine {
        self.line
    }

    /// Reads a text and walks through it.
    pub(crate) fn text(&mut self, text: &str) {
        self.read = self.read.saturating_add(text.len());
        if self.depth > DEEPEST || self.read > 4 * read::LONGEST {
            self.line.doubt(Doubt::TooMuch);
            return;
        }
        self.depth += 1;
        match read::tree(text) {
            Ok(tree) => self.program(&tree),
            Err(doubt) => self.line.doubt(doubt),
        }
        self.depth -= 1;
    }

    fn program(&mut self, program: &Program) {
        program.complete_commands.iter().for_each(|list| self.list(list));
    }

    fn list(&mut self, list: &CompoundList) {
        for item in &list.0 {
            let is_async = match item.1 {
                SeparatorOperator::Async => true,
                SeparatorOperator::Sequence => false,
            };
            self.pipeline(&item.0.first, is_async);
            for next in &item.0.additional {
                match next {
                    AndOr::And(pipeline) | AndOr::Or(pipeline) => self.pipeline(pipeline, is_async),
                }
            }
        }
    }

    fn pipeline(&mut self, pipeline: &Pipeline, is_async: bool) {
        let outer = self.piped;
        for (at, command) in pipeline.seq.iter().enumerate() {
            self.piped = outer || at > 0;
            let calls_itself = |command: &Command| match command {
                Command::Simple(simple) => {
                    simple.word_or_name.as_ref().is_some_and(|name| self.functions.contains(&name.value))
                }
                Command::Compound(..) | Command::Function(_) | Command::ExtendedTest(..) => false,
            };
            if calls_itself(command) && (is_async || pipeline.seq.len() > 1) {
                self.line.danger(Danger::ForkBomb);
            }
            self.command(command);
        }
        self.piped = outer;
    }

    fn command(&mut self, command: &Command) {
        match command {
            Command::Simple(simple) => self.simple(simple),
            Command::Compound(compound, redirects) => {
                self.redirects(redirects.as_ref());
                self.compound(compound);
            }
            Command::Function(function) => self.function(function),
            Command::ExtendedTest(test, redirects) => {
                self.redirects(redirects.as_ref());
                self.test(&test.expr);
            }
        }
    }

    fn function(&mut self, function: &FunctionDefinition) {
        let name = function.fname.value.clone();
        // From here on the name means something else.
        if programs::is_known(&name) && !matches!(name.as_str(), ":" | "help" | "test") {
            self.line.doubt(Doubt::ChangedNames);
        }
        self.functions.push(name);
        self.redirects(function.body.1.as_ref());
        self.compound(&function.body.0);
        self.functions.pop();
    }

    fn compound(&mut self, compound: &CompoundCommand) {
        match compound {
            CompoundCommand::Arithmetic(arithmetic) => self.expression(&arithmetic.expr.value),
            CompoundCommand::ArithmeticForClause(clause) => {
                for part in [&clause.initializer, &clause.condition, &clause.updater].into_iter().flatten() {
                    self.expression(&part.value);
                }
                self.list(&clause.body.list);
            }
            CompoundCommand::BraceGroup(group) => self.list(&group.list),
            CompoundCommand::Subshell(subshell) => self.list(&subshell.list),
            CompoundCommand::ForClause(clause) => {
                clause.values.iter().flatten().for_each(|value| self.aside(&value.value));
                self.variable(&clause.variable_name);
                self.list(&clause.body.list);
            }
            CompoundCommand::CaseClause(clause) => {
                self.aside(&clause.value.value);
                for case in &clause.cases {
                    case.patterns.iter().for_each(|pattern| self.aside(&pattern.value));
                    case.cmd.iter().for_each(|list| self.list(list));
                }
            }
            CompoundCommand::IfClause(clause) => {
                self.list(&clause.condition);
                self.list(&clause.then);
                for otherwise in clause.elses.iter().flatten() {
                    otherwise.condition.iter().for_each(|list| self.list(list));
                    self.list(&otherwise.body);
                }
            }
            CompoundCommand::WhileClause(clause) | CompoundCommand::UntilClause(clause) => {
                self.list(&clause.0);
                self.list(&clause.1.list);
            }
            CompoundCommand::Coprocess(process) => self.command(&process.body),
        }
    }

    fn test(&mut self, test: &ExtendedTestExpr) {
        match test {
            ExtendedTestExpr::And(left, right) | ExtendedTestExpr::Or(left, right) => {
                self.test(left);
                self.test(right);
            }
            ExtendedTestExpr::Not(inner) | ExtendedTestExpr::Parenthesized(inner) => self.test(inner),
            ExtendedTestExpr::UnaryTest(_, word) => self.aside(&word.value),
            ExtendedTestExpr::BinaryTest(_, left, right) => {
                self.aside(&left.value);
                self.aside(&right.value);
            }
        }
    }

    /// A word that is no argument of a command; what it substitutes is run all the same.
    fn aside(&mut self, raw: &str) {
        let _value = self.word(raw);
    }

    /// Arithmetic runs substitutions, also inside of brackets.
    fn expression(&mut self, raw: &str) {
        let read = word::read_document(raw);
        self.take(read);
    }

    fn variable(&mut self, name: &str) {
        if programs::changes_names(name) {
            self.line.doubt(Doubt::ChangedNames);
        }
    }

    fn word(&mut self, raw: &str) -> Word {
        let read = word::read(raw);
        self.take(read)
    }

    /// Walks through what a word substitutes.
    fn take(&mut self, read: ReadWord) -> Word {
        if read.unreadable {
            self.line.doubt(Doubt::Unreadable);
        }
        let outer = std::mem::take(&mut self.piped);
        read.substitutions.iter().for_each(|text| self.text(text));
        self.piped = outer;
        read.word.unwrap_or_else(|| Word { text: String::new(), literal: false, operand: false })
    }

    fn simple(&mut self, simple: &Simple) {
        let mut command = SimpleCommand::default();
        let mut documents = Vec::new();
        for item in simple.prefix.iter().flat_map(|prefix| &prefix.0) {
            self.item(item, &mut command, &mut documents);
        }
        let name = simple.word_or_name.as_ref().map(|name| self.word(&name.value));
        let before = std::mem::take(&mut command.arguments);
        for item in simple.suffix.iter().flat_map(|suffix| &suffix.0) {
            self.item(item, &mut command, &mut documents);
        }
        for variable in &command.variables {
            let name = variable.text.split('=').next().unwrap_or("");
            if programs::changes_names(name) {
                self.line.doubt(Doubt::ChangedNames);
            }
        }
        let Some(name) = name else {
            // Redirects alone write files too.
            if !command.redirects.is_empty() {
                command.program = ":".to_owned();
                command.written = before;
                self.add(command);
            }
            return;
        };
        let mut words = vec![name];
        words.append(&mut command.arguments);
        command.written.clone_from(&words);
        self.run(&words, command, &documents);
    }

    fn item(
        &mut self,
        item: &CommandPrefixOrSuffixItem,
        command: &mut SimpleCommand,
        documents: &mut Vec<Word>,
    ) {
        match item {
            CommandPrefixOrSuffixItem::IoRedirect(redirect) => {
                self.redirect(redirect, &mut command.redirects, documents);
            }
            CommandPrefixOrSuffixItem::Word(word) => {
                let word = self.word(&word.value);
                command.arguments.push(word);
            }
            CommandPrefixOrSuffixItem::AssignmentWord(assignment, raw) => {
                let word = match &assignment.value {
                    AssignmentValue::Scalar(_) => self.word(&raw.value),
                    AssignmentValue::Array(elements) => {
                        for (key, value) in elements {
                            key.iter().for_each(|key| self.aside(&key.value));
                            self.aside(&value.value);
                        }
                        Word { text: raw.value.clone(), literal: false, operand: true }
                    }
                };
                // After the name it is an argument, as of `export` or `dd`.
                command.variables.push(word.clone());
                command.arguments.push(word);
            }
            CommandPrefixOrSuffixItem::ProcessSubstitution(_, subshell) => {
                let outer = std::mem::take(&mut self.piped);
                self.list(&subshell.list);
                self.piped = outer;
                command.arguments.push(Word { text: "<( )".to_owned(), literal: false, operand: true });
            }
        }
    }

    fn redirects(&mut self, redirects: Option<&RedirectList>) {
        let Some(redirects) = redirects else { return };
        let mut command = SimpleCommand { program: ":".to_owned(), ..SimpleCommand::default() };
        redirects
            .0
            .iter()
            .for_each(|redirect| self.redirect(redirect, &mut command.redirects, &mut Vec::new()));
        if !command.redirects.is_empty() {
            self.add(command);
        }
    }

    fn redirect(&mut self, redirect: &IoRedirect, into: &mut Vec<Redirect>, documents: &mut Vec<Word>) {
        match redirect {
            IoRedirect::File(_, kind, target) => {
                let sign = match kind {
                    IoFileRedirectKind::Read | IoFileRedirectKind::DuplicateInput => "<",
                    IoFileRedirectKind::Write | IoFileRedirectKind::DuplicateOutput => ">",
                    IoFileRedirectKind::Append => ">>",
                    IoFileRedirectKind::ReadAndWrite => "<>",
                    IoFileRedirectKind::Clobber => ">|",
                };
                match target {
                    IoFileRedirectTarget::Filename(word) => {
                        let target = self.word(&word.value);
                        into.push(Redirect { sign, target });
                    }
                    IoFileRedirectTarget::Fd(_) => {}
                    IoFileRedirectTarget::ProcessSubstitution(_, subshell) => self.list(&subshell.list),
                    IoFileRedirectTarget::Duplicate(word) => {
                        let target = self.word(&word.value);
                        // `>&1` and `<&-` name no file; `>&name` does.
                        let is_number =
                            target.text.trim_end_matches('-').bytes().all(|byte| byte.is_ascii_digit());
                        if !is_number || !target.literal {
                            into.push(Redirect { sign, target });
                        }
                    }
                }
            }
            IoRedirect::OutputAndError(word, append) => {
                let target = self.word(&word.value);
                into.push(Redirect { sign: if *append { "&>>" } else { "&>" }, target });
            }
            IoRedirect::HereDocument(_, document) => {
                let read = if document.requires_expansion {
                    word::read_document(&document.doc.value)
                } else {
                    ReadWord { word: Some(Word::known(document.doc.value.clone())), ..ReadWord::default() }
                };
                let text = self.take(read);
                documents.push(text);
            }
            IoRedirect::HereString(_, word) => {
                let text = self.word(&word.value);
                documents.push(text);
            }
        }
    }

    /// A program with its arguments, `words`; `command` holds what stands around them.
    fn run(&mut self, words: &[Word], mut command: SimpleCommand, documents: &[Word]) {
        let Some((program, arguments)) = words.split_first() else { return };
        if !program.literal {
            self.line.doubt(Doubt::UnknownProgram);
        }
        command.program.clone_from(&program.text);
        command.arguments = arguments.to_vec();
        let through: Vec<String> =
            command.through.iter().cloned().chain([command.name().to_owned()]).collect();
        if through.len() > DEEPEST {
            self.line.doubt(Doubt::TooMuch);
            return;
        }
        let name = command.name().to_owned();
        self.add(command.clone());
        let inner = |open: bool| SimpleCommand {
            through: through.clone(),
            open: command.open || open,
            guessed: command.guessed,
            redirects: Vec::new(),
            variables: command.variables.clone(),
            written: command.written.clone(),
            ..SimpleCommand::default()
        };
        let runs = if programs::is_shell(&name) { Runs::Nothing } else { through::runs(&name, arguments) };
        let mut next = Vec::new();
        match runs {
            Runs::Nothing => {}
            Runs::Command { words, open } => next.push((words.to_vec(), inner(open))),
            Runs::Commands(commands) => {
                next.extend(commands.into_iter().map(|words| (words.to_vec(), inner(true))));
            }
            Runs::Texts(texts) => self.code(&texts),
            Runs::Unknown => {
                self.line.doubt(Doubt::UnknownThrough);
                next.extend(
                    self.guesses(arguments)
                        .map(|words| (words.to_vec(), SimpleCommand { guessed: true, ..inner(true) })),
                );
            }
        }
        if programs::is_shell(&name) {
            self.shell(arguments, documents);
        } else if programs::is_interpreter(&name) {
            self.interpreter(&name, arguments);
        }
        self.hidden(&name, arguments, &mut |words| {
            next.push((words.to_vec(), SimpleCommand { guessed: true, ..inner(true) }));
        });
        for variable in arguments.iter().filter(|word| {
            matches!(name.as_str(), "export" | "env" | "declare" | "sudo")
                && through::is_assignment(&word.text)
        }) {
            self.variable(variable.text.split('=').next().unwrap_or(""));
        }
        for (words, command) in next {
            self.run(&words, command, documents);
        }
    }

    /// What a shell is told to run: `-c TEXT`, a here document, or what is piped in.
    fn shell(&mut self, arguments: &[Word], documents: &[Word]) {
        if let Some(text) = through::after_option(arguments, 'c', "--command") {
            self.code(&[text]);
        } else if documents.is_empty() {
            let script = arguments.iter().find(|word| !(word.literal && word.text.starts_with(['-', '+'])));
            match script {
                // `bash <(curl …)` runs what another program makes.
                Some(script) if script.text == "<( )" => self.made_code(),
                Some(script) if !script.literal => self.line.doubt(Doubt::UnknownCode),
                None if self.piped => self.made_code(),
                Some(_) | None => {}
            }
        } else {
            documents.iter().for_each(|document| self.code(&[document]));
        }
    }

    /// Another program makes the code that is run: it may be anything.
    fn made_code(&mut self) {
        self.line.danger(Danger::PipedIntoShell);
        self.line.doubt(Doubt::UnknownCode);
    }

    /// What an interpreter is told to run: code among its arguments, or what is piped in.
    fn interpreter(&mut self, name: &str, arguments: &[Word]) {
        if self.piped && !arguments.iter().any(|word| word.operand) {
            self.made_code();
        }
        // What follows the script is the script's.
        let own = arguments.iter().take_while(|word| word.text.starts_with('-'));
        let by_option = { own }.any(|word| programs::takes_code(name, &word.text));
        let by_program = name.ends_with("awk") && arguments.iter().any(|word| programs::awk_runs(&word.text));
        if by_option || by_program {
            self.line.doubt(Doubt::ForeignCode);
        }
    }

    /// Text that a shell runs.
    fn code(&mut self, texts: &[&Word]) {
        if texts.iter().all(|text| text.literal) {
            let joined: Vec<&str> = texts.iter().map(|text| text.text.as_str()).collect();
            self.text(&joined.join(" "));
            return;
        }
        self.line.doubt(Doubt::UnknownCode);
        if texts.iter().any(|text| text.text.contains("$(") || text.text.contains('`')) {
            self.line.danger(Danger::PipedIntoShell);
        }
    }

    /// Commands that a program may hide: an unknown one with the name of a powerful one among its arguments, or a known one with
    /// an option that runs another.
    fn hidden<'a>(&mut self, name: &str, arguments: &'a [Word], take: &mut dyn FnMut(&'a [Word])) {
        let by_option = arguments.iter().any(|word| programs::runs_by_option(name, &word.text));
        let words: Vec<&str> = crate::options::operands(arguments).map(|word| word.text.as_str()).collect();
        let by_word = programs::runs_by_subcommand(name, &words);
        let known = programs::is_known(name);
        let mut guesses = self.guesses(arguments).peekable();
        if by_option || by_word || !known && guesses.peek().is_some() {
            guesses.for_each(take);
            self.line.doubt(Doubt::UnknownThrough);
        } else if matches!(name, "ssh" | "docker" | "podman" | "kubectl" | "npx" | "uvx") {
            guesses.for_each(take);
        }
    }

    /// Where a command may begin among arguments.
    fn guesses<'a>(&self, arguments: &'a [Word]) -> impl Iterator<Item = &'a [Word]> + use<'a> {
        let begins = |word: &Word| {
            let name = word.text.rsplit('/').next().unwrap_or("");
            word.literal && (programs::is_powerful(name) || name == "git")
        };
        // A few are enough to tell; all of them would be quadratic.
        let places = (0..arguments.len()).filter(move |at| arguments.get(*at).is_some_and(begins)).take(3);
        places.filter_map(|at| arguments.get(at..))
    }

    fn add(&mut self, command: SimpleCommand) {
        if self.line.commands.len() >= MOST_COMMANDS {
            self.line.doubt(Doubt::TooMuch);
        } else {
            self.line.commands.push(command);
        }
    }
}
