//! English.

use super::{
    BudgetScope, GrantTexts, GrantWords, Messages, ReasonTexts, UnclearReason, UsedUp, linking,
};

pub(super) const WORDS: Messages = Messages {
    allowed_to_run: |tool| format!("Allow **{tool}**?"),
    run_again: |tool| format!("**{tool}** was interrupted. Run it again?"),
    tool_sentence: |of| of.english,
    argument_below: |name| format!("{name}: see the changes below"),
    argument_cut: |name, shown, length, digest| {
        format!("{name}: the first {shown} of {length} characters, SHA-256 `{digest}…`")
    },
    conversation_covers: |tool, by| {
        format!(
            "\u{201c}Allow in this conversation\u{201d} covers every later call of {tool} that {by} \
                requests here, whatever its arguments, until /new."
        )
    },
    asked_for: |by, until, code| format!("Requested by {by}. Open until {until}, code `{code}`."),
    previews: super::preview_notes::ENGLISH,
    allow_once: "Allow once",
    allow_conversation: "Allow in this conversation",
    allow_always: "Always…",
    deny: "Deny",
    deny_with_reason: "Deny with a reason",
    again: "Run again",
    skip: "Skip",
    show_everything: "Show everything",
    everything_sent: "I'm sending all arguments as a file.",
    everything_sent_before: "The file has already been sent.",
    not_all_shown: "Some of it is not shown here. “Show everything” sends all of it as a file.",
    contacts_host: |written, host| format!("⚠️ {written} connects to {host}"),
    and_more_hosts: |count| {
        format!("⚠️ … and {count} more hosts whose name differs from the one written")
    },
    allowed_by: |by| format!("Allowed by {by}."),
    denied_by: |by| format!("Denied by {by}."),
    expired_notice: "Denied: nobody decided in time.",
    withdrawn_by: |by| format!("Withdrawn by {by}."),
    superseded_by: |by| format!("Superseded: {by} edited the message."),
    undeliverable: "Denied: it could not be shown to anyone who can decide.",
    still_open: "This request is still open.",
    allowed: "Allowed.",
    denied: "Denied.",
    expired: "Too late: this request has expired, which counts as denied.",
    withdrawn: "This request was withdrawn.",
    superseded: "The message behind this request was edited, so it is no longer valid.",
    already_allowed: |by| format!("Already allowed by {by}."),
    already_denied: |by| format!("Already denied by {by}."),
    not_yours: "Only the person who requested this can approve or deny it.",
    not_your_own: "Someone other than the requester has to decide this.",
    not_for_you: "You can't decide this: the policy requires a different approver.",
    no_such_button: "This button is no longer valid.",
    nothing_pending: "There are no open requests here.",
    which_one: "Several requests are open. Add the code of the one you mean, for example `/allow \
        1a2b3c4d`.",
    waiting_for_you: "I'm still waiting for a decision on the request above. I've saved your \
        message and will read it afterwards. /stop withdraws the request.",
    the_bot: "the bot, because the task failed",
    why_not: "Why not?",
    unreadable: "That button or command isn't valid, so nothing was done. Please send a message \
        instead.",
    not_shown_yet: "A request is being sent to you. Please read it before you decide.",
    help: "Just write to me. Before I change anything, I ask for your approval.\n\n- /new starts a \
        new conversation\n- /stop stops what I'm doing and withdraws open requests\n- /allow, \
        /here, /always, /deny and /answer decide or answer an open request without its buttons; \
        /withdraw takes back a vote\n- /grants lists and revokes permissions\n- /status shows \
        what I'm waiting for\n- /model lists the language models and switches between them\n- \
        /link links your accounts\n- /whoami shows who you are to me\n- /panic halts all tools \
        everywhere (owner)",
    help_prompts: "Prompts of tool servers:",
    prompt_usage: |usage| format!("Please write it like this: `{usage}`"),
    prompt_failed: |prompt, server| {
        format!(
            "The tool server {server} did not provide the prompt {prompt}. Please try again later."
        )
    },
    menu: [
        "Start a new conversation",
        "Stop what I'm doing, withdraw open requests",
        "Show what I'm waiting for",
        "Show or switch the language model",
        "List or revoke permissions",
        "Show who you are to me",
        "Show what I can do",
        "Stop all tools at once, everywhere (owner)",
    ],
    stopped: "Stopped.",
    conversation_restarted: "New conversation. I've forgotten everything said before.",
    paired: "Welcome! You can talk to me now. /help shows how.",
    paired_owner: "Welcome! You're the first person here, so you are my owner. /help shows how to \
        talk to me.",
    wrong_code: "That code isn't valid. Ask the operator for a new one.",
    locked: "Too many wrong codes. Try again in 15 minutes.",
    stranger: |id| {
        format!(
            "I don't know you yet. Ask the operator for a pairing code and send it to me, or ask \
                them to add your id `{id}` to `allow`."
        )
    },
    unsupported: |content| {
        format!("I can't read this kind of message ({content}) yet. Please send it as text.")
    },
    whoami: |name, id, channel, role| format!("You are {name} (`{id}`) on `{channel}`, {role}."),
    pending_approvals: |open| match open {
        0 => "There are no open requests.".into(),
        1 => "One request is waiting for a decision.".into(),
        n => format!("{n} requests are waiting for a decision."),
    },
    at_work: |names| format!("Running sub-agents: {names}."),
    models: |now, all| {
        format!("This conversation uses `{now}`. Available models: {all}. `/model NAME` switches.")
    },
    model_now: |name| format!("From now on this conversation uses `{name}`."),
    no_such_model: |name, all| format!("There is no model {name}. Available models: {all}."),
    may_not: |role| format!("You need the role `{role}` or higher for that. /whoami shows yours."),
    reference: |reason, reference| format!("{reason}\n\nReference: `{reference}`"),
    with_cause: |reason, cause| format!("{reason}\n\nCause, shown to you as an owner: {cause}"),
    no_answer: "The language model gave an empty answer. Please ask again.",
    model_unavailable: "I couldn't reach the language model after several attempts. Please try again later.",
    model_refused: "The language model rejects my requests. The operator can find the cause in the console.",
    model_too_long: "This conversation is too long for the language model, even after I shortened it. \
        /new starts a new one.",
    model_too_large: "This conversation is larger than the language model's server accepts, \
        probably because of pictures or long texts. /new starts a new one.",
    model_filtered: "The language model's content filter blocked this. Please rephrase your request.",
    model_malformed_call: "The language model tried to use a tool several times, but wrote the \
        request incorrectly. Please ask again, or in other words.",
    model_failed: "The language model's provider reported an error while it was answering. Please \
        ask again.",
    broken: "Something went wrong on my side, and I couldn't finish.",
    out_of_steps: |steps| format!("I stopped after {steps} steps, the limit for one task."),
    out_of_tokens: |tokens| {
        format!("I stopped because this task has used its budget of {tokens} tokens.")
    },
    out_of_minutes: |minutes| {
        format!("I stopped because this task took longer than {minutes} minutes.")
    },
    say_continue: " Say \u{201c}go on\u{201d} to continue.",
    possible_duplicate: "This may be a duplicate: the platform did not confirm the first attempt.",
    whole_answer: "This is a long answer. The full text is in this file.",
    file_missing: |name| {
        format!("The file {name} can't be sent: its stored contents are missing or damaged.")
    },
    file_gone: |name| {
        format!("I couldn't download the file {name} from the platform. Please send it again.")
    },
    file_too_large: |name, limit| format!("The file {name} is too large. The limit is {limit}."),
    not_transcribed: |name| {
        format!(
            "I couldn't transcribe the recording {name}. I've kept it, but I don't know what it \
                says: please write it, or try again later."
        )
    },
    linking: linking::ENGLISH,
    grant_texts: GrantTexts {
        votes: |so_far, needed, names| format!("{so_far} of {needed}: {names}"),
        withdraw: "Withdraw vote",
        already_voted: "You've already voted to allow this. To take your vote back, choose \
            “Withdraw vote” or type `/withdraw`.",
        no_vote: "You have no vote to withdraw.",
        from_elsewhere: |name, channel| format!("{name}, on {channel}"),
        whose_person: "for requests by the same person, in all chats",
        whose_conversation: "for everyone in this conversation",
        whose_bot: "for everyone, in all chats",
        proposal: |tool, covered, &GrantWords { whose, until, uses }| {
            format!(
                "**Always** would allow, without asking again:\n\n- {tool}: {covered}\n- \
                    {whose}\n- until {until}, {uses}\n\nGrant this permission?"
            )
        },
        type_yes: |code| {
            format!(
                "Type `/always {code} yes`, followed by any changes: `conversation`, `7d`, `5x`."
            )
        },
        everything: "with any arguments",
        below: |folder| format!("only paths below {folder}"),
        exactly: |text| format!("only {text}"),
        origin: |origin| format!("only addresses of {origin}"),
        command: |words| format!("only {words}, with no other options"),
        uses: |left| match left {
            None => "unlimited uses".into(),
            Some(1) => "once".into(),
            Some(n) => format!("{n} times"),
        },
        give: "Grant",
        back: "Back",
        revoke: "Revoke",
        from_now_on: |covered, until| {
            format!("Allowed without asking from now on: {covered}, until {until}.")
        },
        revoked_by: |by| format!("The permission for later calls was revoked by {by}."),
        nothing: "No calls are allowed in advance.",
        list: "Allowed without asking:",
        for_person: |person| format!("for {person}"),
        in_conversation: "in one conversation",
        for_everybody: "for everyone",
        line: |&GrantWords { whose, until, uses }, by| {
            format!("{whose}, until {until}, {uses}, granted by {by}")
        },
        proposed: "Check what this would allow, then grant it or go back.",
        not_given: "Nothing was decided.",
        roles_unknown: "The roles in this chat couldn't be checked, because the platform \
                        didn't answer. Please try again.",
        not_offered: "This can only be allowed once, or denied.",
        revoked: "Revoked. I'll ask again from now on.",
        no_such_grant: "This permission has expired or was revoked.",
        not_your_grant: "You can't revoke this permission.",
        grants_usage: "`/grants revoke 1a2b3c4d` revokes a permission by its code.",
        not_for_others: "Only someone who can approve for everyone here can grant this to \
            everyone. Drop that option to grant it to the requester only.",
        owner_only: "Only the owner of this bot can do that.",
        moved_here: "I can no longer show this request where it was made, so I'm asking you here.",
        all_halted: "All tools are halted. Nothing can be allowed until the owner lifts the halt.",
        lifted: "Halt lifted: tools can run again.",
        not_halted: "Tools were not halted.",
        panic_usage: "`/panic` halts all tools and denies all open requests; `/panic off` lifts the halt.",
        halted: |denied| {
            format!(
                "All tools are halted, on every node. Requests denied: {denied}. /panic off lifts \
                    the halt."
            )
        },
    },
    why: ReasonTexts {
        rule_asks: |rule| format!("The rule \u{201c}{rule}\u{201d} requires approval"),
        rule_unclear: |rule, why| {
            format!("The rule \u{201c}{rule}\u{201d} cannot be evaluated: {why}")
        },
        unclear: |why| format!("No rule can be applied: {why}"),
        unclear_reason: |why| match why {
            UnclearReason::NotThere => "what it checks is missing or not known in advance",
            UnclearReason::NoCommand => "there is no command",
            UnclearReason::NoShell => "it is not a valid shell command",
            UnclearReason::TooMany => "it contains too many commands",
            UnclearReason::TooDeep => "it is too long or too deeply nested",
            UnclearReason::OtherShells => "shells interpret it differently",
            UnclearReason::PipedGroup => "input is piped into a group of commands",
            UnclearReason::Word => "it contains a word that cannot be parsed",
            UnclearReason::Braces => "it contains brace expansions that cannot be evaluated",
            UnclearReason::Variable => "it contains a variable that cannot be evaluated",
            UnclearReason::Program => "the program that it starts is not known in advance",
            UnclearReason::Script => "it runs a script that is not known in advance",
            UnclearReason::Starts => "it uses a program in a way that can start other programs",
        },
        no_rule: "No rule allows it",
        full_stop: ".",
        outside: |tool| format!("{tool} affects systems outside this chat."),
        read_untrusted_content: |sources| {
            format!(
                "This conversation contains untrusted content ({sources}), which may have prompted \
                    this request."
            )
        },
        and_more: |more| format!(" and {more} more"),
        always_asks: |tool| format!("{tool} requires approval every time."),
        changes: |tool| format!("{tool} makes changes, and no rule allows it."),
        required: |tool| format!("{tool} requires approval here, and no rule allows it."),
        severity_high: "\u{1f534} Severity: high.",
        severity_critical: "\u{1f534} Severity: critical.",
        outcome_unknown: "It was interrupted, and it is not known whether it took effect.",
    },
    was_due: |when| format!("This was due at {when}."),
    repeated_result: |tool| {
        format!(
            "I stopped because {tool} kept giving the same result. Please tell me how to continue."
        )
    },
    unreadable_calls: "I stopped because I could not write a valid tool call. Please tell me how to \
                       continue, or choose another model with /model.",
    daily_limit_reached: |whose, what, wait| {
        let whose = match whose {
            BudgetScope::Person => "You've",
            BudgetScope::Conversation => "This conversation has",
            BudgetScope::All => "All users together have",
        };
        let what = match what {
            UsedUp::Messages => "message",
            UsedUp::Tokens => "token",
            UsedUp::Money => "spending",
        };
        format!(
            "{whose} reached today's {what} limit. It resets in {wait} (00:00 UTC), or the \
                operator can raise it."
        )
    },
    too_fast: |seconds| {
        format!(
            "You're sending messages too quickly, so I ignored your last one. Try again in \
                {seconds} s."
        )
    },
    elicitation: super::elicitation::ENGLISH,
    page: super::page::ENGLISH,
};
