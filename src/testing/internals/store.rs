//! Re-exports of the store.

pub use crate::store::{Store, StoreOptions};
pub mod approvals {
    pub use crate::store::approvals::{by_id, open};
    pub mod grants {
        pub use crate::store::approvals::grants::{halt, lift};
    }
}
pub mod audit {
    pub use crate::store::audit::{AuditKind, AuditRecord, Fact, Query};
}
pub mod channels {
    pub use crate::store::channels::ChannelReport;
    pub mod inbox {
        pub use crate::store::channels::inbox::position;
    }
}
pub mod conversations {
    pub mod journal {
        pub use crate::store::conversations::journal::{
            append, conversation, find_conversation, lock,
        };
    }
    pub mod places {
        pub use crate::store::conversations::places::private_with;
    }
    pub mod record {
        pub use crate::store::conversations::record::{ConversationChange, Precondition, Recorded};
    }
}
pub mod db {
    pub use crate::store::db::Durability;
    pub mod backup {
        pub use crate::store::db::backup::file_of;
    }
}
pub mod files {
    pub use crate::store::files::{Artifacts, digest_of};
}
pub mod jobs {
    pub use crate::store::jobs::begin_report;
}
pub mod leases {
    pub use crate::store::leases::{DutyKind, Lease};
}
pub mod lists {
    pub use crate::store::lists::PageRequest;
}
pub mod memory {
    pub use crate::store::memory::{MemoryWrite, Note, Write, recall, search, write};
    pub mod scope {
        pub use crate::store::memory::scope::MemoryScope;
    }
}
pub mod outbox {
    pub use crate::store::outbox::put;
    pub mod due {
        pub use crate::store::outbox::due::Share;
    }
    pub mod sending {
        pub use crate::store::outbox::sending::{Failed, SendOutcome, Sending};
    }
}
pub mod people {
    pub use crate::store::people::{AccessTokenKind, NewAccess, grant_access};
    pub mod identities {
        pub use crate::store::people::identities::{Account, Linking, NamedAccount, redeem_link};
    }
    pub mod pairing {
        pub use crate::store::people::pairing::{
            Bearer, OwnerSource, Pairing, PairingOffer, PairingRole, offer_pairing, pair,
        };
    }
}
pub mod retention {
    pub use crate::store::retention::{Retention, rules::RULES};
}
pub mod rules {
    pub use crate::store::rules::{all, put, remove, replace};
}
pub mod schedules {
    pub use crate::store::schedules::{
        Schedule, ScheduleChange, ScheduleCreated, ScheduleKind, ScheduleState, change_state,
        create, list, set,
    };
}
pub mod takers {
    pub use crate::store::takers::{SendTaker, TurnTaker};
}
pub mod tools {
    pub mod pins {
        pub use crate::store::tools::pins::{
            MODULES, OfferedTool, Reviewed, TrustOutcome, digest, digest_of, of_server, see, trust,
        };
    }
}
pub mod usage {
    pub use crate::store::usage::{RatedCall, account};
    pub mod spent {
        pub use crate::store::usage::spent::{NewUpload, UsageScope};
    }
}
pub mod webhooks {
    pub mod deliveries {
        pub use crate::store::webhooks::deliveries::DeliveryShare;
    }
    pub mod subscriptions {
        pub use crate::store::webhooks::subscriptions::Topic;
    }
}
pub mod wiki {
    pub use crate::store::wiki::{
        PageChange, PageEdit, PageTarget, Saved, TargetOutcome, delete, find, save, set_archived,
        state_of,
    };
}
