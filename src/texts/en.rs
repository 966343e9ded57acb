//! English.

use super::{Doubt, Lasting, Messages, UsedUp, Whose, Why, linking};

pub(super) const WORDS: Messages = Messages {
    may_run: |tool| format!("Allow **{tool}**?"),
    run_again: |tool| format!("**{tool}** was interrupted. Run it again?"),
    argument_below: |name, length, digest| {
        format!("{name}: {length} characters, SHA-256 `{digest}…`, see below")
    },
    argument_cut: |name, shown, length, digest| {
        format!("{name}: the first {shown} of {length} characters, SHA-256 `{digest}…`")
    },
    asked_for: |by, until, code| format!("Asked for by {by}. Open until {until}, code `{code}`."),
    allow_once: "Allow once",
    allow_conversation: "Allow in this conversation",
    allow_always: "Always…",
    deny: "Deny",
    deny_with_reason: "Deny with a reason",
    again: "Run again",
    skip: "Skip",
    show_everything: "Show everything",
    everything_sent: "All arguments are on their way as a file.",
    everything_sent_before: "That file has been sent already.",
    not_all_shown: "Not everything is shown here: “Show everything” sends all of it as a file.",
    contacts_host: |written, host| format!("⚠️ {written} is the host {host}"),
    and_more_hosts: |count| format!("⚠️ … and {count} more hosts that are written differently"),
    allowed_by: |by| format!("Allowed by {by}."),
    denied_by: |by| format!("Denied by {by}."),
    nobody_in_time: "Denied: nobody answered in time.",
    withdrawn_by: |by| format!("Withdrawn by {by}."),
    superseded_by: |by| format!("Superseded: {by} changed the request."),
    undeliverable: "Denied: it could not be shown to anybody who may decide.",
    still_open: "This question is still open.",
    allowed: "Allowed.",
    denied: "Denied.",
    expired: "Too late: the question had expired, which counts as denied.",
    withdrawn: "The question was withdrawn.",
    superseded: "The request was changed; this question does not count any more.",
    already_allowed: |by| format!("Already allowed by {by}."),
    already_denied: |by| format!("Already denied by {by}."),
    not_yours: "Only the person who asked for this may decide it.",
    not_your_own: "You may not decide this: somebody else than the person who asked for it has to.",
    not_for_you: "You may not decide this: the policy names others for it.",
    no_such_button: "This button is not valid any more.",
    nothing_pending: "Nothing waits for a decision here.",
    which_one: "Several questions are open. Name one by the code that it shows, as in \
        `/allow 1a2b3c4d`.",
    waiting_for_you: "I am still waiting for a decision on the question above. I have noted your \
        message and read it after that. /stop withdraws the question.",
    the_bot: "the bot, which had to give the task up",
    why_not: "Why not?",
    unreadable: "This could not be read here, and nothing was done. Please write a message instead.",
    not_shown_yet: "A question is on its way to you. Please read it before you decide.",
    help: "Write to me in plain words. I ask with buttons before I change anything.\n\n\
        - /new starts a fresh conversation\n\
        - /stop ends what I am doing and withdraws open questions\n\
        - /allow, /here, /always and /deny answer an open question without its buttons\n\
        - /status says what I am waiting for\n\
        - /model shows the language models, and switches to one\n\
        - /whoami shows how I know you",
    menu: [
        "Start a fresh conversation",
        "End what I am doing, withdraw open questions",
        "What I am waiting for",
        "Show or switch the language model",
        "What you have allowed for good, and how to take it back",
        "How I know you",
        "What I can do",
        "Stop all tools at once, everywhere (owner)",
    ],
    stopped: "Stopped.",
    fresh: "A fresh conversation. I have forgotten what was said before.",
    paired: "Welcome! You can talk to me now. /help says how.",
    paired_owner: "Welcome! You are the first here, so you are my owner. /help says how to talk \
        to me.",
    wrong_code: "That code is not valid. Ask the operator for a new one.",
    locked: "Too many wrong codes. Try again in 15 minutes.",
    stranger: |id| {
        format!(
            "I do not know you yet. Ask the operator for a pairing code and send it to me, or \
             have your id `{id}` added to `allow`."
        )
    },
    unsupported: |content| format!("I cannot take in a {content} yet. Please write it as text."),
    whoami: |name, id, channel, role| format!("You are {name} (`{id}`) on `{channel}`, {role}."),
    open_questions: |open| match open {
        0 => "No question is open.".into(),
        1 => "One question waits for a decision.".into(),
        n => format!("{n} questions wait for a decision."),
    },
    at_work: |names| format!("Sub-agents at work: {names}."),
    models: |now, all| {
        format!("This conversation uses `{now}`. There are: {all}. `/model NAME` switches.")
    },
    model_now: |name| format!("From now on this conversation uses `{name}`."),
    no_such_model: |name, all| format!("There is no model {name}. There are: {all}."),
    may_not: |role| format!("For that you need the role `{role}`. /whoami shows yours."),
    reference: |reason, reference| format!("{reason}\n\nReference: `{reference}`"),
    no_answer: "The language model gave an empty answer. Please ask again.",
    model_unavailable: "I could not reach the language model, after several tries. Please write \
        again in a while.",
    model_refused: "The language model refuses my requests. The operator finds the reason in the \
        log.",
    broken: "Something went wrong on my side, and I could not finish.",
    out_of_steps: |steps| {
        format!(
            "I stopped after {steps} steps, the most that one task may take. Say \u{201c}go \
             on\u{201d} to continue."
        )
    },
    out_of_tokens: |tokens| {
        format!(
            "I stopped: this task has used up its budget of {tokens} tokens. Say \u{201c}go \
             on\u{201d} to continue."
        )
    },
    out_of_minutes: |minutes| {
        format!(
            "I stopped: this task took longer than {minutes} minutes. Say \u{201c}go on\u{201d} \
             to continue."
        )
    },
    perhaps_twice: "This may stand here already: the platform did not say whether it had arrived.",
    whole_answer: "The answer is long. All of it is in this file.",
    file_missing: |name| {
        format!("The file {name} cannot be sent: its stored bytes are gone or damaged.")
    },
    file_gone: |name| {
        format!("I could not fetch the file {name} from the platform. Please send it again.")
    },
    file_too_large: |name, most| {
        format!("The file {name} is too large for me: I take at most {most}.")
    },
    linking: linking::ENGLISH,
    lasting: Lasting {
        votes: |so_far, needed, names| format!("{so_far} of {needed}: {names}"),
        from_elsewhere: |name, channel| format!("{name}, on {channel}"),
        whose_person: "for what the person who asked wants, in every chat",
        whose_conversation: "for everybody in this conversation",
        whose_bot: "for everybody, in every chat",
        proposal: |[tool, covered, whose, until, uses]| {
            format!(
                "**Always** would allow, without asking again:\n\n- {tool}: {covered}\n- {whose}\n\
                 - until {until}, {uses}\n\nGive this leave?"
            )
        },
        type_yes: |code| {
            format!(
                "Type `/always {code} yes`, and behind it what is to differ: `conversation`, `7d`, \
                 `5x`."
            )
        },
        everything: "whatever its arguments are",
        below: |folder| format!("only paths below {folder}"),
        exactly: |text| format!("only {text}"),
        origin: |origin| format!("only addresses of {origin}"),
        command: |words| format!("only {words}, with no other options"),
        uses: |left| match left {
            None => "as often as wanted".into(),
            Some(1) => "once".into(),
            Some(n) => format!("{n} times"),
        },
        give: "Give",
        back: "Back",
        revoke: "Revoke",
        from_now_on: |covered, until| {
            format!("From now on without asking: {covered}, until {until}.")
        },
        revoked_by: |by| format!("Leave for later calls was revoked by {by}."),
        nothing: "Nothing is allowed for longer.",
        list: "Allowed without asking:",
        for_person: |person| format!("for {person}"),
        in_conversation: "in one conversation",
        for_everybody: "for everybody",
        line: |[whose, until, uses, by]| format!("{whose}, until {until}, {uses}, given by {by}"),
        proposed: "Read what it would allow, then give it or go back.",
        not_given: "Nothing was decided.",
        not_offered: "This can only be allowed once, or denied.",
        revoked: "Revoked: I ask again from now on.",
        no_such_grant: "This leave does not hold any more.",
        not_your_grant: "You may not revoke this leave.",
        grants_usage: "`/grants revoke 1a2b3c4d` takes one back, by its code.",
        not_for_others: "Leave for everybody here is for somebody to give who may decide for everybody here. Leave it out, and it holds for the person who asked.",
        owner_only: "Only the owner of this bot may do that.",
        moved_here: "I cannot show this question where it was asked any more, so I ask you here.",
        all_halted: "All tools are halted. Nothing can be allowed until the owner lifts that.",
        lifted: "Lifted: tools run again.",
        not_halted: "Nothing was halted.",
        panic_usage: "`/panic` halts all tools and denies all open questions; `/panic off` lifts it.",
        halted: |denied| {
            format!(
                "All tools are halted, on every node. Questions denied: {denied}. /panic off lifts \
                 it."
            )
        },
    },
    why: Why {
        rule_asks: |rule| format!("The rule \u{201c}{rule}\u{201d} asks"),
        rule_unclear: |rule, why| {
            format!("The rule \u{201c}{rule}\u{201d} cannot be evaluated: {why}")
        },
        unclear: |why| format!("No rule can judge it: {why}"),
        doubt: |why| match why {
            Doubt::NotThere => "what it looks at is not there, or not known before",
            Doubt::NoCommand => "there is no command to read",
            Doubt::NoShell => "it is no shell command that can be read",
            Doubt::TooMany => "it holds too many commands",
            Doubt::TooDeep => "it is too long or too deep",
            Doubt::OtherShells => "not every shell reads it the same way",
            Doubt::PipedGroup => "something is piped into a group of commands",
            Doubt::Word => "it holds a word that cannot be read",
            Doubt::Braces => "it holds braces that are not followed",
            Doubt::Variable => "it holds a variable that is not followed",
            Doubt::Program => "which program it starts is not known before",
            Doubt::Script => "it runs a script that is not known before",
            Doubt::Starts => "it uses a program in a way that can start other programs",
        },
        no_rule: "No rule allows it",
        full_stop: ".",
        outside: |tool| format!("{tool} acts on the outside."),
        read_others: |sources| {
            format!(
                "This conversation has read what others wrote: {sources}. It may have been told to \
                 do this."
            )
        },
        and_more: |more| format!(" and {more} more"),
        always_asks: |tool| format!("{tool} asks every time."),
        changes: |tool| format!("{tool} changes something, and no rule allows it."),
        severity_high: "\u{1f534} Severity: high.",
        severity_critical: "\u{1f534} Severity: critical.",
        outcome_unknown: "It was interrupted, and whether it took effect is not known.",
    },
    was_due: |when| format!("This was due at {when}."),
    circles: |tool| {
        format!(
            "I stopped: I was going in circles with {tool}, which gave the same result every time. \
             Tell me how to go on."
        )
    },
    unreadable_calls: "I stopped: I could not write a tool call that can be read. Tell me how to go \
                       on, or try another model with /model.",
    day_used_up: |whose, what, wait| {
        let whose = match whose {
            Whose::Person => "you",
            Whose::Conversation => "this conversation",
            Whose::All => "everybody together",
        };
        let what = match what {
            UsedUp::Messages => "messages",
            UsedUp::Tokens => "tokens",
            UsedUp::Money => "money",
        };
        format!(
            "I cannot go on today: the {what} that {whose} may use in a day are used up. It goes \
             on in {wait} (at midnight UTC), or when the operator raises the limit."
        )
    },
    too_fast: |seconds| {
        format!(
            "That was too fast for me: I have not read your last message. Write again in {seconds} \
             s."
        )
    },
    asking: super::elicitation::ENGLISH,
    page: super::page::ENGLISH,
};
