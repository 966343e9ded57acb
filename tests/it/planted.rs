//! Each security check is disabled, one at a time, in a separate process: the test that covers it
//! must then fail. Removing a check is therefore detected.

use std::process::Command;

/// A check by its name in the program, its requirements, and the test that detects its absence.
const FAULTS: &[(&str, &str, &str)] = &[
    ("taint", "S1", "guard::untrusted_content_taints_until_the_conversation_restarts"),
    ("links", "S1", "guard::untrusted_content_taints_until_the_conversation_restarts"),
    ("forwarded", "S1, S16", "guard::a_forwarded_message_taints"),
    ("approvers", "S2, A13", "approvals::only_the_requester_decides"),
    ("joined", "S2, A13", "approvers::a_later_speaker_is_not_the_requester"),
    ("votes", "A13", "approvers::a_vote_counts_as_long_as_its_voter_may_decide"),
    ("binding", "S3, A4", "guard::an_approval_is_void_when_the_file_has_changed"),
    ("once", "S4, A3", "approvers::a_hundred_presses_decide_once"),
    ("expiry", "S4, A5", "approvals::a_press_after_the_deadline_does_not_count"),
    ("cut off", "A14, T6", "nodes::a_call_that_was_cut_off_is_put_to_the_person"),
    ("acknowledgement", "A2", "messages::a_failed_acknowledgement_is_tried_again"),
    ("slash", "A9", "approvals::a_message_during_a_pending_approval_waits"),
    ("place", "A1, A7", "approvers::a_press_counts_only_where_the_approval_is_shown"),
    ("offers", "A1, A11", "approvers::only_what_was_offered_counts"),
    ("strangers", "S5", "people::a_pairing_code_works_once"),
    ("moves", "A6", "moved_approvals::the_approval_is_sent_to_the_approvers_private_chat"),
    ("reason", "A10", "approvals::a_denial_reaches_the_model"),
    ("halt", "A12", "permanent_grants::panic_halts_everything"),
    ("bots", "A15", "approvers::text_of_the_model_decides_nothing"),
    ("retry", "R3, I4", "faults::a_result_is_recorded_once_the_database_takes_it"),
    ("renewal", "I7, R4", "faults::a_jump_of_the_clock_starts_no_second_turn"),
    ("rates", "S13", "limits::the_twenty_first_write_in_a_minute_is_refused"),
    ("signatures", "S6", "webhooks::a_wrong_secret_is_rejected"),
    ("memory", "S17", "memory::an_untrusted_memory_stays_untrusted"),
    ("dressed up", "S18, A8", "approvals::an_approval_shows_the_arguments_and_a_diff"),
    ("questions", "S18", "permanent_grants::approvals_are_limited_per_hour"),
];

/// Whether that test passes with that check disabled.
fn passes(test: &str, fault: &str) -> bool {
    let name = format!("stories::{test}::on_sqlite");
    let ran = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", &name])
        .env("COUNTERSIGN_FAULT", fault)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&ran.stdout).into_owned();
    assert!(said.contains("running 1 test"), "there is no test {name}");
    ran.status.success()
}

/// Proves S1 … S6, S13, S17, S18, A1 … A15, I4, I7, R3, R4, T6.
#[test]
fn every_planted_fault_is_found() {
    let missed: Vec<_> = FAULTS.iter().filter(|(fault, _, test)| passes(test, fault)).collect();
    assert!(missed.is_empty(), "nobody notices that these are missing: {missed:?}");
}
