//! Packs the relocations of the program, which are several megabytes otherwise, where the C library
//! of this system can read them.

#![expect(clippy::disallowed_methods, reason = "cargo passes its parameters as variables")]

use std::{env, process::Command};

/// The first version of glibc that reads packed relocations.
const PACKED_SINCE: (u32, u32) = (2, 36);

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let target = env::var("TARGET").unwrap_or_default();
    let is_native = env::var("HOST").is_ok_and(|host| host == target);
    if is_native && target.ends_with("-linux-gnu") && glibc().is_some_and(|v| v >= PACKED_SINCE) {
        println!("cargo::rustc-link-arg-bins=-Wl,-z,pack-relative-relocs");
    }
}

/// The version of this system's glibc.
fn glibc() -> Option<(u32, u32)> {
    let asked = Command::new("getconf").arg("GNU_LIBC_VERSION").output().ok()?;
    let version = String::from_utf8(asked.stdout).ok()?;
    let (major, minor) = version.trim().strip_prefix("glibc ")?.split_once('.')?;
    Some((major.parse().ok()?, minor.split('.').next()?.parse().ok()?))
}
