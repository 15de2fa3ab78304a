//! The model: what must become of each call, as short as it can be said. It knows no path, no futures and no store.

use crate::world::Answering;

/// The tools of the model. `read` and `view` look, `write` changes; `view`, `write` ask; `pay` asks every time; `mail` brings
/// content from outside; `send` can carry data away.
pub(crate) const TOOLS: [&str; 6] = ["read", "view", "write", "pay", "mail", "send"];

/// What they look at and change. `ab` only begins like `a`; a rule denies `forbidden`.
pub(crate) const CELLS: [&str; 5] = ["a", "a/x", "a/y", "ab", "forbidden"];

/// One call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Call {
    pub(crate) tool: &'static str,
    pub(crate) cell: &'static str,
}

/// What becomes of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fate {
    /// There was no budget for it.
    OverBudget,
    /// A rule denied it.
    Denied,
    /// It ran without a question.
    Ran,
    /// An earlier result stood in for it.
    Repeated,
    /// A person was asked and said yes.
    AskedAndRan,
    /// A person was asked, and there was no yes.
    AskedAndRefused,
    /// The run was stopped before it could run.
    Stopped,
    /// The process ended while its question stood.
    Crashed,
    /// The process ended before it was looked at.
    Lost,
}

/// Up to where a yes reaches.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Reach {
    Cell(&'static str),
    Folder(&'static str),
    Tool,
}

impl Reach {
    fn covers(&self, cell: &str) -> bool {
        match self {
            Self::Tool | Self::Folder("") => true,
            Self::Cell(granted) => cell == *granted,
            Self::Folder(folder) => cell == *folder || cell.starts_with(&format!("{folder}/")),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Life {
    Run(usize),
    Session,
    Until(u64),
}

#[derive(Debug)]
struct Given {
    /// As the real one is called, once that is known.
    id: Option<String>,
    tool: &'static str,
    reach: Reach,
    life: Life,
    revoked: bool,
}

/// An earlier call that gave a result.
#[derive(Debug)]
struct Earlier {
    call: Call,
    /// The yes that it rests on.
    grant: Option<usize>,
    stale: bool,
}

pub(crate) struct Reference {
    reuse: bool,
    limit: u32,
    parallel: bool,
    run: usize,
    /// Mail was read, and its content has come in.
    mail_came: bool,
    tainted: bool,
    grants: Vec<Given>,
    /// Grants of processes that are gone.
    gone: usize,
    earlier: Vec<Earlier>,
}

/// How long the time that `Answering::Until` names is ahead.
pub(crate) const UNTIL_MS: u64 = 60_000;

fn folder(cell: &'static str) -> &'static str {
    cell.rsplit_once('/').map_or("", |(folder, _)| folder)
}

fn writes(tool: &str) -> bool {
    matches!(tool, "write" | "pay" | "send")
}

fn meet(one: &str, other: &str) -> bool {
    one == other || one.starts_with(&format!("{other}/")) || other.starts_with(&format!("{one}/"))
}

impl Reference {
    pub(crate) fn new(parallel: bool, reuse: bool, limit: u32) -> Self {
        let (run, gone, grants, earlier) = (0, 0, Vec::new(), Vec::new());
        Self { reuse, limit, parallel, run, mail_came: false, tainted: false, grants, gone, earlier }
    }

    /// The live grant that covers a call.
    fn covering(&self, call: Call, now: u64) -> Option<usize> {
        let alive = |life: Life| match life {
            Life::Run(run) => run == self.run,
            Life::Session => true,
            Life::Until(end) => now < end,
        };
        let covers = |given: &Given| {
            !given.revoked && alive(given.life) && given.tool == call.tool && given.reach.covers(call.cell)
        };
        self.grants.iter().enumerate().skip(self.gone).find(|(_, given)| covers(given)).map(|(at, _)| at)
    }

    fn repeats(&self, call: Call) -> bool {
        let newest = self.earlier.iter().rev().find(|one| one.call == call);
        self.reuse && !writes(call.tool) && newest.is_some_and(|one| !one.stale)
    }

    fn ran(&mut self, call: Call, grant: Option<usize>) {
        self.mail_came |= call.tool == "mail";
        if writes(call.tool) {
            let touched = self.earlier.iter_mut().filter(|one| meet(one.call.cell, call.cell));
            touched.for_each(|one| one.stale = true);
        }
        self.earlier.push(Earlier { call, grant, stale: false });
    }

    /// One run of one batch that begins at `began`, in milliseconds, while a person is there or not.
    pub(crate) fn batch(
        &mut self,
        calls: &[Call],
        answers: &[Answering],
        yes: bool,
        mut watched: bool,
        began: u64,
    ) -> Vec<Fate> {
        self.run += 1;
        let mut answers = answers.iter();
        // Only questions let time pass.
        let mut now = began;
        let (mut stopped, mut crashed) = (false, false);
        let mut fates = Vec::new();
        for (at, call) in calls.iter().copied().enumerate() {
            // Side by side, what a call brings is there when the next question or batch begins.
            self.tainted |= self.mail_came && !self.parallel;
            let fate = if crashed {
                Fate::Lost
            } else if at >= self.limit as usize {
                Fate::OverBudget
            } else if stopped {
                Fate::Stopped
            } else if call.cell == "forbidden" {
                Fate::Denied
            } else {
                let outside = call.tool == "send" && self.tainted;
                let asks = matches!(call.tool, "view" | "write" | "pay") || outside;
                let grant = if asks && !outside { self.covering(call, now) } else { None };
                let every_time = call.tool == "pay";
                if asks && (every_time || !(yes || grant.is_some())) {
                    let answer = watched.then(|| answers.next()).flatten().copied();
                    let fate = self.ask(call, every_time || outside, answer, &mut watched, &mut now);
                    self.tainted |= self.mail_came;
                    fate
                } else if self.repeats(call) {
                    Fate::Repeated
                } else {
                    self.ran(call, grant);
                    Fate::Ran
                }
            };
            stopped |= fate == Fate::Stopped;
            crashed |= fate == Fate::Crashed;
            fates.push(fate);
        }
        self.tainted |= self.mail_came;
        fates
    }

    /// A question and its end. Where nobody is, it is a no after the grace.
    fn ask(
        &mut self,
        call: Call,
        single: bool,
        answer: Option<Answering>,
        watched: &mut bool,
        now: &mut u64,
    ) -> Fate {
        let reach = |number: usize| match number {
            0 => Reach::Cell(call.cell),
            1 => Reach::Folder(folder(call.cell)),
            _ => Reach::Tool,
        };
        let lasting = match answer {
            None => {
                *now += Answering::GRACE_MS;
                return Fate::AskedAndRefused;
            }
            Some(Answering::Deny | Answering::Twice) => return Fate::AskedAndRefused,
            Some(Answering::OtherBytes | Answering::NotOffered | Answering::Silence) => {
                *now += Answering::TIMEOUT_MS;
                return Fate::AskedAndRefused;
            }
            Some(Answering::Leaves) => {
                *now += Answering::GRACE_MS;
                *watched = false;
                return Fate::AskedAndRefused;
            }
            Some(Answering::Stop) => return Fate::Stopped,
            Some(Answering::Crash) => return Fate::Crashed,
            Some(Answering::ComesBack) => {
                *now += Answering::AWAY_MS;
                None
            }
            Some(Answering::Once) => None,
            Some(Answering::Session(number)) => Some((reach(number), Life::Session)),
            Some(Answering::Run(number)) => Some((reach(number), Life::Run(self.run))),
            Some(Answering::Until(number)) => Some((reach(number), Life::Until(*now + UNTIL_MS))),
        };
        // What is asked each time offers nothing beyond the call, so that a yes is one to it alone.
        let lasting = lasting.filter(|_| !single);
        let grant = lasting.map(|(reach, life)| {
            self.grants.push(Given { id: None, tool: call.tool, reach, life, revoked: false });
            self.grants.len() - 1
        });
        self.ran(call, grant);
        Fate::AskedAndRan
    }

    /// How the real grants are called, in the order in which they were given.
    pub(crate) fn learn(&mut self, ids: Vec<String>) {
        let held = &mut self.grants[self.gone..];
        assert_eq!(held.len(), ids.len(), "the grants that are held: {ids:?}");
        held.iter_mut().zip(ids).for_each(|(given, id)| given.id = Some(id));
    }

    /// A grant was taken back: it covers nothing, and nothing that rests on it is given again.
    pub(crate) fn revoke(&mut self, id: &str) {
        let at = self.grants.iter().position(|given| given.id.as_deref() == Some(id)).unwrap();
        self.grants[at].revoked = true;
        // A result that was given since takes the place of those before it, so that these do not come back.
        let rests: Vec<Call> =
            self.earlier.iter().filter(|one| one.grant == Some(at)).map(|one| one.call).collect();
        for call in rests {
            let newest = self.earlier.iter().rposition(|one| one.call == call);
            if let Some(newest) = newest.filter(|newest| self.earlier[*newest].grant == Some(at)) {
                self.earlier[newest].stale = true;
            }
        }
    }

    /// Another process owns the session: no grant lives on; what ran and what came from outside is known.
    pub(crate) fn restart(&mut self) {
        self.gone = self.grants.len();
    }
}
