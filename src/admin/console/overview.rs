//! The first page: health, channels, open approvals, failed turns, and the cost of today.

use anyhow::Result;
use axum::response::Response;
use chrono::TimeDelta;
use serde_json::{Value, json};

use super::{live, page::PageContext};
use crate::{
    admin::{
        Admin,
        api::{
            approvals::{self, ApprovalFilter, ApprovalState},
            inventory::{account, all_channels},
        },
        problem::Problem,
    },
    journal::role::Role,
    store::{lists::conversations::failures, usage::UsageKind},
};

/// How many approvals and failed turns are shown.
const SHOWN: usize = 5;
/// How far back failed turns are shown.
const FAILED_WITHIN: TimeDelta = TimeDelta::days(7);

pub async fn index(context: PageContext) -> Result<Response, Problem> {
    let (admin, role) = (&context.admin, context.caller.role);
    let channels = all_channels(admin, role).await?;
    let letters: i64 = channels.iter().map(|channel| channel.given_up).sum();
    let pending_approvals =
        if role >= Role::Approver { Some(pending_approvals(admin).await?) } else { None };
    let (failed, today) = if role >= Role::Operator {
        (Some(failed(admin).await?), Some(today(admin).await?))
    } else {
        (None, None)
    };
    let figures = admin.gateway.store.figures(admin.gateway.clock.now()).await?;
    let values = json!({
        "version": env!("CARGO_PKG_VERSION"),
        "demo": admin.demo,
        "channels": channels,
        "letters": letters,
        "waiting": figures.outbox.count,
        "waiting_ms": figures.outbox.oldest_ms,
        "busy": figures.held,
        "pending": figures.approvals.count,
        "approvals": pending_approvals,
        "failed": failed,
        "today": today,
    });
    context.page("overview.html", values).await
}

async fn pending_approvals(admin: &Admin) -> Result<Value> {
    let filter =
        ApprovalFilter { status: Some(ApprovalState::Pending), ..ApprovalFilter::default() };
    let found = approvals::page(admin, filter, live::first(SHOWN)).await?;
    Ok(json!(found.items))
}

async fn failed(admin: &Admin) -> Result<Value> {
    let since = admin.gateway.clock.now() - FAILED_WITHIN;
    let read = admin.gateway.store.read(move |tx| Box::pin(failures(tx, since, SHOWN)));
    let redactor = admin.redactor();
    let failed = read.await?.into_iter().map(|turn| {
        json!({
            "conversation": turn.conversation,
            "channel": turn.channel,
            "chat": turn.chat,
            "at": turn.at,
            "reason": redactor.text(&turn.reason),
            "cause": turn.cause.map(|cause| redactor.text(&cause).into_owned()),
            "reference": turn.reference,
        })
    });
    Ok(failed.collect())
}

/// The totals of today, in UTC.
async fn today(admin: &Admin) -> Result<Value> {
    let lines = account(admin, 1).await?;
    let models = || lines.iter().filter(|line| line.kind == UsageKind::Model);
    let tools = lines.iter().filter(|line| line.kind == UsageKind::Tool);
    Ok(json!({
        "cost_micros": lines.iter().map(|line| line.cost_micros).sum::<i64>(),
        "requests": models().map(|line| line.times).sum::<i64>(),
        "tokens": models().map(|line| line.input_tokens + line.output_tokens).sum::<u64>(),
        "calls": tools.map(|line| line.times).sum::<i64>(),
    }))
}
