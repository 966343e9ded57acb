//! When what is killed: after enough has happened since the last kill, at a moment at which
//! something is under way.

use std::{sync::Arc, time::Duration};
use tokio::time::Instant;

use super::{
    Result,
    database::Server,
    gateway::Gateway,
    history::{Kill, Outage},
    random::Random,
    record::Record,
};
use crate::tools::ToolServer;

const POLL_INTERVAL: Duration = Duration::from_millis(20);
/// How long a kill waits for answers since the last one, as long as there is any.
const PROGRESS_WITHIN: Duration = Duration::from_secs(15);
/// The most answers that a kill waits for.
const ANSWERS: usize = 4;
/// How long it waits for the first answer.
const ANSWER_WITHIN: Duration = Duration::from_mins(1);
/// How long it waits for the moment that was chosen.
const MOMENT_WITHIN: Duration = Duration::from_secs(2);
/// So many kills to one outage of the database.
const KILLS_PER_OUTAGE: usize = 8;
/// While the database is away and shortly afterwards a process may give up and be started again.
const RECOVERS_WITHIN: Duration = Duration::from_secs(15);

/// What a kill interrupts.
#[derive(Debug, Clone, Copy)]
enum Target {
    Anything,
    Call,
    Press,
    Thought,
    Send,
}

/// The processes, and what has been done to them.
pub struct Trial {
    pub gateway: Gateway,
    pub server: Option<Server>,
    pub record: Arc<Record>,
    pub tools: Arc<ToolServer>,
    pub random: Random,
    pub kills: Vec<Kill>,
    pub outages: Vec<Outage>,
    pub exits: Vec<String>,
    /// Stopped nodes, and when they are to be started again.
    down: Vec<(usize, Instant)>,
}

impl Trial {
    pub fn new(
        gateway: Gateway,
        server: Option<Server>,
        record: Arc<Record>,
        tools: Arc<ToolServer>,
        random: Random,
    ) -> Self {
        let (kills, outages, exits, down) = (vec![], vec![], vec![], vec![]);
        Self { gateway, server, record, tools, random, kills, outages, exits, down }
    }

    /// Starts every node, one after the other: the first creates the tables.
    pub async fn start(&mut self) -> Result<()> {
        for node in 0..self.gateway.nodes() {
            self.gateway.start(node)?;
            let started = Instant::now();
            while !self.gateway.is_ready(node) {
                if !self.gateway.ended()?.is_empty() || started.elapsed() > ANSWER_WITHIN {
                    return Err(format!("node {node} does not start; see node{node}.log").into());
                }
                tokio::time::sleep(POLL_INTERVAL).await;
            }
        }
        Ok(())
    }

    /// Kills that many processes and restarts each. Calls `report` after each.
    pub async fn kill_all(&mut self, kills: usize, report: impl Fn(&Self)) -> Result<()> {
        let mut outage_after = KILLS_PER_OUTAGE / 2;
        while self.kills.len() < kills {
            self.await_progress().await?;
            if self.server.is_some() && self.kills.len() >= outage_after {
                outage_after += KILLS_PER_OUTAGE;
                self.lose_database().await?;
                continue;
            }
            self.await_target().await?;
            self.kill_some(kills).await?;
            report(self);
        }
        while !self.down.is_empty() {
            self.watch().await?;
        }
        Ok(())
    }

    /// Waits until people have got answers since the last kill.
    async fn await_progress(&mut self) -> Result<()> {
        let (before, started) = (self.record.answered.get(), Instant::now());
        let wanted = 1 + self.random.below(ANSWERS);
        loop {
            self.watch().await?;
            let answered = self.record.answered.get() - before;
            let enough = answered >= wanted;
            let late = answered > 0 && started.elapsed() > PROGRESS_WITHIN;
            if enough || late || started.elapsed() > ANSWER_WITHIN {
                return Ok(());
            }
        }
    }

    /// Waits until something is under way that the kill can interrupt.
    async fn await_target(&mut self) -> Result<()> {
        let targets =
            [Target::Anything, Target::Call, Target::Press, Target::Thought, Target::Send];
        let target = targets[self.random.below(targets.len())];
        let count = |trial: &Self| match target {
            Target::Anything => 0,
            Target::Call => trial.tools.count(),
            Target::Press => trial.record.pressed.get(),
            Target::Thought => trial.record.asked.get(),
            Target::Send => trial.record.sent.get(),
        };
        let (before, started) = (count(self), Instant::now());
        let waits = !matches!(target, Target::Anything);
        while waits && count(self) == before && started.elapsed() < MOMENT_WITHIN {
            self.restart()?;
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        let limit = if waits { 60 } else { 500 };
        let pause = self.random.millis(0, limit);
        tokio::time::sleep(pause).await;
        Ok(())
    }

    /// Mostly one process; sometimes several at once.
    async fn kill_some(&mut self, kills: usize) -> Result<()> {
        let nodes = self.gateway.nodes();
        let limit = (kills - self.kills.len()).min(nodes);
        let count = if nodes > 1 && self.random.percent(15) { limit } else { 1 };
        let busy = self.tools.last_caller().filter(|_| self.random.percent(50));
        let first = busy.unwrap_or_else(|| self.random.below(nodes));
        for node in (0..count).map(|more| (first + more) % nodes) {
            if !self.gateway.runs(node) {
                continue;
            }
            // Before the signal: what the process has done until then may have been interrupted.
            self.kills.push(Kill { at: self.record.now(), node });
            self.gateway.kill(node).await?;
            let pause = if self.random.percent(80) {
                Duration::ZERO
            } else {
                self.random.millis(200, 2_000)
            };
            self.down.push((node, Instant::now() + pause));
        }
        self.restart()
    }

    /// Stops the database at once and starts it again; now and then it is away for longer than a
    /// lease lasts.
    async fn lose_database(&mut self) -> Result<()> {
        let away = if self.outages.len() % 4 == 3 {
            self.random.millis(6_500, 8_000)
        } else {
            self.random.millis(200, 2_500)
        };
        let from = self.record.now();
        if let Some(server) = &mut self.server {
            server.stop().await?;
            tokio::time::sleep(away).await;
            server.start().await?;
        }
        self.outages.push(Outage { from, to: self.record.now() });
        Ok(())
    }

    /// Starts again what is down, and notices what has ended by itself.
    async fn watch(&mut self) -> Result<()> {
        tokio::time::sleep(POLL_INTERVAL).await;
        self.restart()
    }

    fn restart(&mut self) -> Result<()> {
        for (node, status) in self.gateway.ended()? {
            let at = self.record.now();
            let excused =
                self.outages.last().is_some_and(|outage| at < outage.to + RECOVERS_WITHIN);
            self.kills.extend(excused.then_some(Kill { at, node }));
            if !excused {
                self.exits.push(format!("node {node} at {at:?}: {status}"));
            }
            self.down.push((node, Instant::now()));
        }
        let now = Instant::now();
        for (node, at) in std::mem::take(&mut self.down) {
            if at <= now {
                self.gateway.start(node)?;
            } else {
                self.down.push((node, at));
            }
        }
        Ok(())
    }

    /// Goes on to start again what ends, for as long as it is polled.
    pub async fn keep_running(&mut self) -> Result<()> {
        loop {
            self.watch().await?;
        }
    }
}
