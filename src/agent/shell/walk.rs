//! Walks a parsed command line and collects every program that it would start.

use brush_parser::{
    ParserOptions, SourceInfo,
    ast::{
        AndOr, AndOrList, Assignment, AssignmentName, AssignmentValue, Command as Node,
        CommandPrefixOrSuffixItem, CompoundCommand, CompoundList, ExtendedTestExpr, Pipeline,
        SimpleCommand,
    },
};
use std::panic::catch_unwind;

use super::{
    command::{Command, FROM_A_PROGRAM, Word},
    inner, scan,
    state::{Input, Walk},
};
use crate::texts::UnclearReason;

/// A longer or deeper line is unclear, because the recursive parser might overflow the stack.
const MAX_BYTES: usize = 16_000;
const MAX_DEPTH: usize = 8;
const MAX_NESTING: usize = 12;
const MAX_BRANCHES: usize = 64;

/// Whether a line has both. The parser misplaces the end of a here-document's body within `<(…)`.
fn has_both_documents_and_process_substitutions(text: &str) -> bool {
    let substitutes = text.contains("<(") || text.contains(">(");
    substitutes && text.replace("<<<", "").contains("<<")
}

impl Walk {
    /// Walks a script; returns its output, if known.
    pub(super) fn script(&mut self, text: &str) -> Option<String> {
        if text.len() > MAX_BYTES || is_deep(text) || self.depth >= MAX_DEPTH {
            self.doubt(UnclearReason::TooDeep);
            return None;
        }
        let Some(program) = program(text) else {
            self.doubt(UnclearReason::NoShell);
            return None;
        };
        if text.contains("$'") {
            self.doubt(UnclearReason::OtherShells);
        }
        if has_both_documents_and_process_substitutions(text) {
            self.doubt(UnclearReason::Word);
        }
        self.depth += 1;
        let outer = std::mem::replace(&mut self.source, text.chars().collect());
        let lists: Vec<_> = program.iter().map(|list| self.list(list)).collect();
        self.source = outer;
        self.depth -= 1;
        if scan::overlooks(text, &self.followed) {
            self.doubt(UnclearReason::Word);
        }
        lists.into_iter().collect::<Option<Vec<_>>>().map(|said| said.concat())
    }

    /// Follows a script in an argument. The output of a program cannot be known in advance.
    pub(super) fn runs(&mut self, name: &str, script: &Word) {
        if !script.sure {
            self.doubt(UnclearReason::Script);
        }
        if script.text.contains(FROM_A_PROGRAM) {
            self.push(Command::of(&["|", name]));
        }
        self.script(&script.text);
    }

    pub(super) fn list(&mut self, list: &CompoundList) -> Option<String> {
        let said: Vec<_> = list.0.iter().map(|item| self.and_or(&item.0)).collect();
        said.into_iter().collect::<Option<Vec<_>>>().map(|said| said.concat())
    }

    fn and_or(&mut self, list: &AndOrList) -> Option<String> {
        let mut said = self.pipeline(&list.first);
        for more in &list.additional {
            let (AndOr::And(pipeline) | AndOr::Or(pipeline)) = more;
            let next = self.pipeline(pipeline);
            said = said.zip(next).map(|(one, two)| one + &two);
        }
        said
    }

    fn pipeline(&mut self, pipeline: &Pipeline) -> Option<String> {
        let mut input = Input::default();
        for command in &pipeline.seq {
            let text = self.node(command, input);
            input = Input { piped: true, text };
        }
        input.text
    }

    fn node(&mut self, node: &Node, input: Input) -> Option<String> {
        match node {
            Node::Simple(simple) => self.simple(simple, input),
            Node::Compound(compound, redirects) => {
                let input = self.redirects(redirects.as_ref(), input);
                self.compound(compound, &input)
            }
            Node::Function(function) => {
                self.functions.push(function.fname.value.clone());
                let input = self.redirects(function.body.1.as_ref(), Input::default());
                self.compound(&function.body.0, &input);
                self.functions.pop();
                None
            }
            Node::ExtendedTest(test) => {
                self.test(&test.expr);
                self.doubt(UnclearReason::OtherShells);
                None
            }
        }
    }

    fn compound(&mut self, compound: &CompoundCommand, input: &Input) -> Option<String> {
        if input.piped && holds_reader(compound) {
            // It is unknown which of the group's commands reads the input.
            self.doubt(UnclearReason::PipedGroup);
        }
        match compound {
            CompoundCommand::BraceGroup(group) => return self.list(&group.list),
            CompoundCommand::Subshell(subshell) => return self.list(&subshell.list),
            CompoundCommand::Arithmetic(it) => {
                self.arithmetic(&it.expr.value);
                self.doubt(UnclearReason::OtherShells);
            }
            CompoundCommand::ArithmeticForClause(it) => {
                self.doubt(UnclearReason::OtherShells);
                for expr in [&it.initializer, &it.condition, &it.updater].into_iter().flatten() {
                    self.arithmetic(&expr.value);
                }
                self.list(&it.body.list);
            }
            CompoundCommand::ForClause(it) => {
                let values: Vec<_> =
                    it.values.iter().flatten().flat_map(|word| self.words(&word.value)).collect();
                let only = values.first().filter(|_| values.len() == 1);
                self.sets(&it.variable_name, only);
                self.variables.insert(it.variable_name.clone(), only.map(|word| word.text.clone()));
                self.list(&it.body.list);
            }
            CompoundCommand::CaseClause(it) => {
                self.inside(&it.value.value);
                for case in &it.cases {
                    case.patterns.iter().for_each(|pattern| self.inside(&pattern.value));
                    case.cmd.iter().for_each(|list| drop(self.list(list)));
                }
            }
            CompoundCommand::IfClause(it) => {
                self.list(&it.condition);
                self.list(&it.then);
                for branch in it.elses.iter().flatten() {
                    branch.condition.iter().for_each(|list| drop(self.list(list)));
                    self.list(&branch.body);
                }
            }
            CompoundCommand::WhileClause(it) | CompoundCommand::UntilClause(it) => {
                self.list(&it.0);
                self.list(&it.1.list);
            }
        }
        None
    }

    fn test(&mut self, expr: &ExtendedTestExpr) {
        match expr {
            ExtendedTestExpr::And(one, two) | ExtendedTestExpr::Or(one, two) => {
                self.test(one);
                self.test(two);
            }
            ExtendedTestExpr::Not(one) | ExtendedTestExpr::Parenthesized(one) => self.test(one),
            ExtendedTestExpr::UnaryTest(_, word) => self.inside(&word.value),
            ExtendedTestExpr::BinaryTest(_, one, two) => {
                self.inside(&one.value);
                self.inside(&two.value);
            }
        }
    }

    fn simple(&mut self, simple: &SimpleCommand, mut input: Input) -> Option<String> {
        let mut words = Vec::new();
        let mut assignments = Vec::new();
        let before = simple.prefix.iter().flat_map(|prefix| &prefix.0);
        let after = simple.suffix.iter().flat_map(|suffix| &suffix.0);
        for item in before {
            match item {
                CommandPrefixOrSuffixItem::AssignmentWord(it, _) => assignments.push(it),
                other => self.item(other, &mut words, &mut input),
            }
        }
        if let Some(name) = &simple.word_or_name {
            words.extend(self.words(&name.value));
        }
        for item in after {
            self.item(item, &mut words, &mut input);
        }
        let alone = words.is_empty();
        for assignment in assignments {
            self.assign(assignment, alone);
        }
        if alone {
            return Some(String::new());
        }
        self.command(words, &input)
    }

    fn item(&mut self, item: &CommandPrefixOrSuffixItem, words: &mut Vec<Word>, input: &mut Input) {
        match item {
            CommandPrefixOrSuffixItem::Word(word) => words.extend(self.words(&word.value)),
            CommandPrefixOrSuffixItem::AssignmentWord(_, word) => {
                words.extend(self.words(&word.value));
            }
            CommandPrefixOrSuffixItem::IoRedirect(redirect) => {
                *input = self.redirect(redirect, input.clone());
            }
            CommandPrefixOrSuffixItem::ProcessSubstitution(kind, subshell) => {
                self.substituted(kind, subshell);
                words.push(Word::guess(FROM_A_PROGRAM));
            }
        }
    }

    /// A variable changes what programs do. One set for a single command may select another
    /// program.
    fn assign(&mut self, assignment: &Assignment, persists: bool) {
        let name = assignment.name.to_string();
        if let AssignmentName::ArrayElementName(_, index) = &assignment.name {
            self.arithmetic(index);
        }
        let value = match &assignment.value {
            AssignmentValue::Scalar(word) => {
                let words = self.words(&word.value);
                words.into_iter().map(|word| word.text).collect::<Vec<_>>().join(" ")
            }
            AssignmentValue::Array(items) => {
                for (index, word) in items {
                    if let Some(index) = index {
                        self.arithmetic(&index.value);
                    }
                    self.inside(&word.value);
                }
                self.variables.insert(name.clone(), None);
                return self.push(Command::of(&["=", &name]));
            }
        };
        self.push(Command::of(&["=", &name, &value]));
        if persists {
            let again = self.variables.contains_key(&name) || assignment.append;
            self.variables.insert(name, Some(value).filter(|_| !again));
        }
    }

    /// A program that is started, and the programs that it starts.
    pub(super) fn command(&mut self, words: Vec<Word>, input: &Input) -> Option<String> {
        let command = Command { words };
        if command.words.first().is_some_and(|word| looks_like_assignment(&word.text)) {
            // In some shells this sets a variable, and the next word is the program.
            self.doubt(UnclearReason::OtherShells);
        }
        if command.name().is_some_and(|name| self.functions.iter().any(|known| known == name)) {
            let name = command.name().unwrap_or_default().to_owned();
            self.push(Command::of(&["function", &name, "--calls-itself"]));
        }
        self.push(command.clone());
        if self.depth > MAX_DEPTH {
            self.doubt(UnclearReason::TooDeep);
            return None;
        }
        self.depth += 1;
        let said = inner::follow(self, &command, input);
        self.depth -= 1;
        said
    }
}

/// `NAME=…`, `NAME+=…` or `NAME[…`
fn looks_like_assignment(text: &str) -> bool {
    let end = text.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(text.len());
    let (name, rest) = text.split_at(end);
    !name.is_empty() && ["=", "+=", "["].iter().any(|sign| rest.starts_with(sign))
}

/// Whether a group may contain a program that runs its input.
fn holds_reader(compound: &CompoundCommand) -> bool {
    let shown = compound.to_string();
    let mut words = shown.split(|c: char| !c.is_alphanumeric() && c != '.');
    words.any(inner::is_interpreter) || shown.contains('$') || shown.contains('`')
}

/// Whether brackets are nested, or branches chained, too deeply for the recursive parser.
fn is_deep(text: &str) -> bool {
    let mut nesting = 0_usize;
    let mut deepest = 0;
    for c in text.chars() {
        match c {
            '(' | '{' => nesting += 1,
            ')' | '}' => nesting = nesting.saturating_sub(1),
            _ => {}
        }
        deepest = deepest.max(nesting);
    }
    let branches = ["if", "while", "until", "for", "case", "select", "function", "!", "time"];
    let words = text.split(|c: char| c.is_whitespace() || ";&|(){}".contains(c));
    let branches = words.filter(|word| branches.contains(word)).count();
    deepest > MAX_NESTING || branches > MAX_BRANCHES || text.matches('`').count() > MAX_NESTING
}

/// A panic of the parser counts as a script that it does not understand.
fn program(text: &str) -> Option<Vec<CompoundList>> {
    let parsed = catch_unwind(|| {
        let tokens = brush_parser::tokenize_str(text).ok()?;
        let source = SourceInfo { source: text.to_owned() };
        brush_parser::parse_tokens(&tokens, &ParserOptions::default(), &source).ok()
    });
    Some(parsed.ok()??.complete_commands)
}
