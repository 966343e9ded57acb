//! Whether this node may still take leases of one kind.
//!
//! A transaction continues when its caller is dropped, and could take a lease after this node has
//! released everything. It therefore holds a [`LeasePermit`] until it ends, and releasing the leases
//! waits for all permits.

use std::sync::Arc;
use tokio::sync::{OwnedRwLockReadGuard, RwLock};

#[derive(Debug, Clone)]
pub(in crate::store) struct Acquisition {
    is_allowed: Arc<RwLock<bool>>,
}

/// The right to take leases, until dropped.
#[derive(Debug)]
pub(in crate::store) struct LeasePermit {
    _guard: OwnedRwLockReadGuard<bool>,
}

impl Acquisition {
    pub(in crate::store) fn allowed() -> Self {
        Self { is_allowed: Arc::new(RwLock::new(true)) }
    }

    /// `None` after [`Self::end`].
    pub(in crate::store) async fn permit(&self) -> Option<LeasePermit> {
        let guard = self.is_allowed.clone().read_owned().await;
        guard.then_some(()).map(|()| LeasePermit { _guard: guard })
    }

    /// Like [`Self::permit`], but `None` also while [`Self::end`] waits.
    pub(in crate::store) fn try_permit(&self) -> Option<LeasePermit> {
        let guard = self.is_allowed.clone().try_read_owned().ok()?;
        guard.then_some(()).map(|()| LeasePermit { _guard: guard })
    }

    /// Waits until all permits are dropped, and gives no more.
    pub(in crate::store) async fn end(&self) {
        *self.is_allowed.write().await = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_end_waits_for_all_permits_and_no_more_are_given() {
        let acquisition = Acquisition::allowed();
        let permit = acquisition.permit().await.expect("leases may be taken");
        drop(acquisition.try_permit().expect("by several transactions at once"));
        let mut end = std::pin::pin!(acquisition.end());
        assert!(futures::poll!(end.as_mut()).is_pending());
        assert!(acquisition.try_permit().is_none(), "the end is near");
        drop(permit);
        end.await;
        assert!(acquisition.permit().await.is_none() && acquisition.try_permit().is_none());
    }
}
