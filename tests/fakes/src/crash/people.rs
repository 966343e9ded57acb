//! What people do: they write, forward, edit, and press buttons, twice and at once. They know
//! nothing of processes.

use serde_json::json;
use std::{collections::BTreeSet, sync::Arc, time::Duration};

use super::{
    history::{self, ApprovalPurpose, Choice, Moment, Press, Question, Request, Said, Tag, tags},
    random::Random,
    record::Record,
};
use crate::telegram::{BOT_NAME, FakeTelegram, Shown};

/// How often people look at their chats.
const POLL_INTERVAL: Duration = Duration::from_millis(100);
/// Every n-th conversation is a group of two people.
const GROUP_EVERY: usize = 4;
/// The platform takes 20 messages a minute in a group, three of which belong to one request.
const GROUP_PACE: Duration = Duration::from_secs(10);
/// The messages that one person writes without waiting for an answer.
const AHEAD: usize = 3;
/// Somebody who sees the buttons in a group, and may not use them.
pub const OUTSIDER: &str = "Mallory";

/// One conversation after another in the same place of the run, until the run closes.
pub struct Slot {
    pub telegram: FakeTelegram,
    pub record: Arc<Record>,
    pub number: usize,
    pub random: Random,
}

impl Slot {
    pub async fn live(mut self) {
        let mut ticks = tokio::time::interval(POLL_INTERVAL);
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        while !self.record.is_closing() {
            let mut talk = Talk::begin(&self);
            loop {
                ticks.tick().await;
                if !talk.goes_on(&mut self.random) {
                    break;
                }
            }
        }
    }
}

/// Something that a person is about to do.
enum Act {
    Press { message: i64, by: String, data: String, choice: Choice },
    Edit { tag: Tag, message: i64, request: Request },
}

/// One chat from its first message to its last answer.
struct Talk {
    telegram: FakeTelegram,
    record: Arc<Record>,
    number: u32,
    chat: i64,
    people: Vec<String>,
    /// Messages without an answer.
    open: Vec<(Tag, i64)>,
    /// Approval requests that have been seen.
    seen: BTreeSet<i64>,
    /// Those of them that still have their buttons.
    unsettled: BTreeSet<i64>,
    due: Vec<(Moment, Act)>,
    written: u32,
    limit: u32,
    /// The messages that may be without an answer when the next one is written.
    ahead: usize,
    writes_at: Moment,
}

impl Talk {
    fn begin(slot: &Slot) -> Self {
        let (telegram, record) = (slot.telegram.clone(), slot.record.clone());
        let number = record.begin_chat();
        let (chat, people) = if slot.number % GROUP_EVERY == GROUP_EVERY - 1 {
            let names = [format!("Ann {number}"), format!("Bob {number}")];
            (telegram.group(&format!("Team {number}")), names.to_vec())
        } else {
            let name = format!("Ann {number}");
            (telegram.private(&name), vec![name])
        };
        record.in_chat(number, |begun| begun.id = chat);
        Self {
            telegram,
            record,
            number,
            chat,
            people,
            open: Vec::new(),
            seen: BTreeSet::new(),
            unsettled: BTreeSet::new(),
            due: Vec::new(),
            written: 0,
            limit: 8 + (number % 5),
            ahead: 1,
            writes_at: Moment::ZERO,
        }
    }

    fn is_group(&self) -> bool {
        self.people.len() > 1
    }

    /// Looks, presses, edits, writes. `false` when everything has come to its end.
    fn goes_on(&mut self, random: &mut Random) -> bool {
        self.look(random);
        self.act();
        let closing = self.record.is_closing();
        let rests = self.open.is_empty() && self.unsettled.is_empty() && self.due.is_empty();
        if rests && (closing || self.written >= self.limit) {
            return false;
        }
        let may_write = !closing && self.written < self.limit && self.open.len() < self.ahead;
        if may_write && self.record.now() >= self.writes_at {
            self.write(random);
        }
        true
    }

    fn look(&mut self, random: &mut Random) {
        let messages = self.open.iter().map(|(_, message)| *message);
        let Some(first) = messages.chain(self.unsettled.iter().copied()).min() else { return };
        let shown = self.telegram.messages_from(self.chat, first);
        for message in shown.iter().filter(|message| message.from_bot) {
            self.see_question(message, random);
        }
        let shown: Vec<_> = shown
            .into_iter()
            .filter(|message| message.from_bot)
            .map(|message| history::Shown { message: message.id, text: message.text })
            .collect();
        let answered: BTreeSet<_> = shown.iter().flat_map(history::Shown::answers).collect();
        let failure = shown.iter().rev().find(|shown| shown.is_failure());
        let failure = failure.map_or(0, |shown| shown.message);
        let before = self.open.len();
        // The answer to the old version of a message may have been on its way when it was edited.
        let is_open = |tag: &Tag| !answered.contains(tag) && !answered.contains(&tag.original());
        self.open.retain(|(tag, message)| is_open(tag) && *message > failure);
        for _ in self.open.len()..before {
            self.record.answered.add();
            self.writes_at = self.writes_at.max(self.record.now() + random.millis(50, 600));
        }
    }

    fn see_question(&mut self, message: &Shown, random: &mut Random) {
        let choices = message.buttons.iter().filter_map(|(_, data)| Some((choice(data)?, data)));
        let choices: Vec<_> = choices.collect();
        if choices.is_empty() {
            self.unsettled.remove(&message.id);
            return;
        }
        self.unsettled.insert(message.id);
        if !self.seen.insert(message.id) {
            return;
        }
        let retry = choices.iter().any(|(choice, _)| *choice == Choice::Again);
        let asks = if retry { ApprovalPurpose::Retry } else { ApprovalPurpose::Allow };
        let tag = tags(&message.text).first().map(|(tag, _)| *tag);
        let tag = tag.unwrap_or(Tag { chat: self.number, message: 0, edited: false });
        let question = Question { at: self.record.now(), tag, message: message.id, asks };
        self.record.in_chat(self.number, |chat| chat.questions.push(question));
        let presses = self.presses(asks, random);
        for (by, wanted, after) in presses {
            let Some((_, data)) = choices.iter().find(|(choice, _)| *choice == wanted) else {
                continue;
            };
            let act = Act::Press { message: message.id, by, data: (*data).clone(), choice: wanted };
            self.due.push((self.record.now() + after, act));
        }
    }

    /// Who presses what, and after how long.
    fn presses(
        &self,
        asks: ApprovalPurpose,
        random: &mut Random,
    ) -> Vec<(String, Choice, Duration)> {
        let first = self.people[0].clone();
        let after = random.millis(0, 600);
        let shortly = after + random.millis(0, 150);
        if asks == ApprovalPurpose::Retry {
            let wanted = if random.percent(30) { Choice::Again } else { Choice::Skip };
            let twice = random.percent(30).then(|| (first.clone(), wanted, shortly));
            return twice.into_iter().chain([(first, wanted, after)]).collect();
        }
        let outsider = (OUTSIDER.to_owned(), Choice::Allow, Duration::ZERO);
        let mut presses: Vec<_> =
            (self.is_group() && random.percent(30)).then_some(outsider).into_iter().collect();
        let second = self.people.last().cloned().unwrap_or_default();
        let (allow, deny) = (Choice::Allow, Choice::Deny);
        presses.extend(match random.below(100) {
            0..35 => vec![(first, allow, after)],
            35..60 => vec![(first, allow, after), (second, allow, shortly)],
            60..75 => vec![(first, allow, after), (second, deny, after)],
            75..85 => vec![(first, deny, after), (second, allow, after)],
            _ => vec![(first, deny, after)],
        });
        presses
    }

    fn act(&mut self) {
        let now = self.record.now();
        let (due, later) =
            std::mem::take(&mut self.due).into_iter().partition(|(at, _)| *at <= now);
        self.due = later;
        for (_, act) in due {
            match act {
                Act::Press { message, by, data, choice } => self.press(message, &by, &data, choice),
                Act::Edit { tag, message, request } => self.edit(tag, message, request),
            }
        }
    }

    fn press(&self, message: i64, by: &str, data: &str, choice: Choice) {
        let (at, may_decide) = (self.record.now(), by != OUTSIDER);
        let press = Press { at, message, by: by.to_owned(), choice, may_decide };
        self.record.in_chat(self.number, |chat| chat.presses.push(press));
        self.telegram.user_forges(self.chat, by, message, data);
        self.record.pressed.add();
    }

    /// Edits a message, unless its answer is already shown: such an edit is read with the next
    /// message only.
    fn edit(&mut self, tag: Tag, message: i64, request: Request) {
        if self.open.iter().all(|(open, _)| *open != tag) {
            return;
        }
        let new = Tag { edited: true, ..tag };
        let at = self.record.now();
        let said = Said { at, arrived: at, tag: new, request, message, replaced: false };
        self.record.in_chat(self.number, |chat| {
            chat.said.iter_mut().filter(|old| old.tag == tag).for_each(|old| old.replaced = true);
            chat.said.push(said);
        });
        self.open.retain(|(open, _)| *open != tag);
        self.open.push((new, message));
        self.telegram.user_edits(self.chat, message, &self.text(request, new));
    }

    fn text(&self, request: Request, tag: Tag) -> String {
        let text = format!("please {} {tag}", request.word());
        if self.is_group() { format!("@{BOT_NAME} {text}") } else { text }
    }

    fn write(&mut self, random: &mut Random) {
        self.written += 1;
        self.ahead = if random.percent(20) { AHEAD } else { 1 };
        let tag = Tag { chat: self.number, message: self.written, edited: false };
        let request = match random.below(100) {
            0..40 => Request::Say,
            40..75 => Request::Launch,
            _ => Request::Note,
        };
        let at = self.record.now();
        let by = &self.people[random.below(self.people.len())];
        let text = self.text(request, tag);
        // In a group, a forwarded message is not addressed to the bot.
        let forwards = !self.is_group() && random.percent(10);
        let message = if forwards {
            let origin = json!({ "type": "hidden_user", "sender_user_name": "Eve", "date": 1 });
            let fields = json!({ "text": text, "forward_origin": origin });
            self.telegram.user_posts(self.chat, by, fields)
        } else {
            self.telegram.user_says(self.chat, by, &text)
        };
        let said = Said { at, arrived: at, tag, request, message, replaced: false };
        self.record.in_chat(self.number, |chat| chat.said.push(said));
        self.open.push((tag, message));
        if !forwards && random.percent(12) {
            let after = random.millis(0, 1_500);
            self.due.push((at + after, Act::Edit { tag, message, request }));
        }
        if self.is_group() {
            self.writes_at = at + GROUP_PACE;
        }
    }
}

/// What a button decides, by the last letter of its data.
fn choice(data: &str) -> Option<Choice> {
    match data.chars().next_back()? {
        'a' => Some(Choice::Allow),
        'd' => Some(Choice::Deny),
        'r' => Some(Choice::Again),
        's' => Some(Choice::Skip),
        _ => None,
    }
}
