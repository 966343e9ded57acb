//! The allowed system calls. Unknown calls are denied: those of later kernels, and those of other
//! architectures and ABIs.

use anyhow::{Context as _, Result};
use libc::c_long;
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule,
};
use std::collections::BTreeMap;

/// The last system call that this list covers, `mseal`.
const LAST_KNOWN: c_long = 462;

/// Access to other processes, the kernel, mounts and namespaces, and memory that belongs to no
/// process and would not be counted.
const CLOSED: &[c_long] = &[
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_process_madvise,
    libc::SYS_pidfd_getfd,
    libc::SYS_kcmp,
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_open_tree,
    libc::SYS_move_mount,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    libc::SYS_unshare,
    libc::SYS_setns,
    // Its flags are in memory, which a filter cannot read. Callers fall back to `clone`.
    libc::SYS_clone3,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_keyctl,
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_kexec_load,
    libc::SYS_kexec_file_load,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_name_to_handle_at,
    libc::SYS_open_by_handle_at,
    libc::SYS_fanotify_init,
    libc::SYS_reboot,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_acct,
    libc::SYS_quotactl,
    libc::SYS_quotactl_fd,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_clock_adjtime,
    libc::SYS_adjtimex,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    libc::SYS_syslog,
    libc::SYS_vhangup,
    libc::SYS_personality,
    libc::SYS_mbind,
    libc::SYS_move_pages,
    libc::SYS_migrate_pages,
    libc::SYS_set_mempolicy,
    libc::SYS_memfd_create,
    libc::SYS_memfd_secret,
    libc::SYS_shmget,
    libc::SYS_semget,
    libc::SYS_msgget,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_iopl,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_ioperm,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_modify_ldt,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_uselib,
];

/// For a process that only reads its input and writes its output. It may be in the same process
/// namespace as the gateway.
const CLOSED_TO_READERS: &[c_long] = &[
    libc::SYS_socket,
    libc::SYS_socketpair,
    libc::SYS_execve,
    libc::SYS_execveat,
    libc::SYS_kill,
    libc::SYS_tkill,
    libc::SYS_rt_sigqueueinfo,
    libc::SYS_rt_tgsigqueueinfo,
    libc::SYS_pidfd_open,
    libc::SYS_pidfd_send_signal,
    libc::SYS_setpriority,
    libc::SYS_ioprio_set,
    libc::SYS_sched_setaffinity,
    libc::SYS_sched_setattr,
    libc::SYS_sched_setparam,
    libc::SYS_sched_setscheduler,
    libc::SYS_mq_open,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_fork,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_vfork,
];

const NAMESPACES: u64 = (libc::CLONE_NEWNS
    | libc::CLONE_NEWCGROUP
    | libc::CLONE_NEWUTS
    | libc::CLONE_NEWIPC
    | libc::CLONE_NEWUSER
    | libc::CLONE_NEWPID
    | libc::CLONE_NEWNET) as u64;

/// Requests of `ioctl` that inject input into the terminal.
const TERMINAL_INPUT: [u64; 2] = [libc::TIOCSTI, libc::TIOCLINUX];
/// Requests of `ioctl` and `fcntl` by which the kernel sends signals to any process of this user.
/// libc does not name all of them.
const IOCTL_SIGNALS: [u64; 2] = [FIOSETOWN, SIOCSPGRP];
const FCNTL_SIGNALS: [u64; 3] = [libc::F_SETOWN as u64, F_SETSIG, F_SETOWN_EX];
const FIOSETOWN: u64 = 0x8901;
const SIOCSPGRP: u64 = 0x8902;
const F_SETSIG: u64 = 10;
const F_SETOWN_EX: u64 = 15;

/// The process id of the sandbox's init process, which enforces limits.
const INIT: u64 = 1;

/// The scope of the restrictions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FilterScope {
    /// A program, which may start others.
    Program,
    /// This process and its threads.
    Reader,
}

/// Denies the other calls to this process and all its children, permanently.
pub fn close(reach: FilterScope) -> Result<()> {
    let target = std::env::consts::ARCH.try_into().context("seccomp on this processor")?;
    let missing = SeccompAction::Errno(libc::ENOSYS as u32);
    let filter = SeccompFilter::new(rules(reach)?, missing, SeccompAction::Allow, target)?;
    let filter: BpfProgram = filter.try_into()?;
    seccompiler::apply_filter(&filter).context("seccomp")
}

/// The allowed calls, some of them only with certain arguments.
fn rules(reach: FilterScope) -> Result<BTreeMap<i64, Vec<SeccompRule>>> {
    let mut open: BTreeMap<i64, Vec<SeccompRule>> =
        (0..=LAST_KNOWN).map(|call| (call, Vec::new())).collect();
    let reader = if reach == FilterScope::Reader { CLOSED_TO_READERS } else { &[] };
    open.retain(|call, _| !CLOSED.contains(call) && !reader.contains(call));
    let mut only = |call: c_long, rules: Vec<SeccompRule>| {
        if let Some(rule) = open.get_mut(&call) {
            *rule = rules;
        }
    };
    let thread = if reach == FilterScope::Reader { libc::CLONE_THREAD as u64 } else { 0 };
    let same = SeccompCmpOp::MaskedEq(NAMESPACES | thread);
    only(libc::SYS_clone, vec![when(0, same, thread)?]);
    let families = [libc::AF_UNIX, libc::AF_INET, libc::AF_INET6];
    only(libc::SYS_socket, all(families.map(|f| when(0, SeccompCmpOp::Eq, f as u64)))?);
    // Limits of other processes can be read, but not changed.
    let own = when(0, SeccompCmpOp::Eq, 0)?;
    let reads = SeccompCondition::new(2, SeccompCmpArgLen::Qword, SeccompCmpOp::Eq, 0)?;
    only(libc::SYS_prlimit64, vec![own, SeccompRule::new(vec![reads])?]);
    match reach {
        FilterScope::Reader => {
            // Aborting sends a signal to the own process.
            only(libc::SYS_tgkill, vec![when(0, SeccompCmpOp::Eq, std::process::id().into())?]);
            only(libc::SYS_fcntl, vec![without(1, FCNTL_SIGNALS)?]);
            let requests = TERMINAL_INPUT.into_iter().chain(IOCTL_SIGNALS);
            only(libc::SYS_ioctl, vec![without(1, requests)?]);
        }
        FilterScope::Program => {
            only(libc::SYS_ioctl, vec![without(1, TERMINAL_INPUT)?]);
            for call in [
                libc::SYS_sched_setaffinity,
                libc::SYS_sched_setattr,
                libc::SYS_sched_setparam,
                libc::SYS_sched_setscheduler,
            ] {
                only(call, vec![without(0, [INIT])?]);
            }
            let one = condition(0, SeccompCmpOp::Eq, libc::PRIO_PROCESS.into())?;
            let other = condition(1, SeccompCmpOp::Ne, INIT)?;
            only(libc::SYS_setpriority, vec![SeccompRule::new(vec![one, other])?]);
        }
    }
    Ok(open)
}

/// A rule that is met if the argument has none of these values.
fn without(argument: u8, values: impl IntoIterator<Item = u64>) -> Result<SeccompRule> {
    let others = values.into_iter().map(|value| condition(argument, SeccompCmpOp::Ne, value));
    Ok(SeccompRule::new(all(others)?)?)
}

fn all<T>(parts: impl IntoIterator<Item = Result<T>>) -> Result<Vec<T>> {
    parts.into_iter().collect()
}

fn when(argument: u8, is: SeccompCmpOp, value: u64) -> Result<SeccompRule> {
    Ok(SeccompRule::new(vec![condition(argument, is, value)?])?)
}

/// The kernel uses 32 bits of these arguments, and so does the filter.
fn condition(argument: u8, is: SeccompCmpOp, value: u64) -> Result<SeccompCondition> {
    Ok(SeccompCondition::new(argument, SeccompCmpArgLen::Dword, is, value)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::{io::Errno, process};

    /// The filter applies to the thread that sets it.
    /// Proves S7.
    #[test]
    fn a_reader_cannot_change_other_processes() {
        let parent = process::getppid();
        let limit = process::getrlimit(process::Resource::Core);
        let reader = std::thread::spawn(move || {
            close(FilterScope::Reader).unwrap();
            let core = |of| process::prlimit(of, process::Resource::Core, limit);
            let others = [
                process::test_kill_process(parent.unwrap()),
                process::setpriority_process(parent, 0),
                core(parent).map(drop),
            ];
            (others, core(None).is_ok())
        });
        assert_eq!(reader.join().unwrap(), ([Err(Errno::NOSYS); 3], true));
    }

    /// Proves S7.
    #[test]
    fn the_filter_fits_into_the_kernel_and_closes_what_it_names() {
        for reach in [FilterScope::Program, FilterScope::Reader] {
            let rules = rules(reach).unwrap();
            assert!(CLOSED.iter().all(|call| !rules.contains_key(call)));
            for call in [libc::SYS_execve, libc::SYS_kill, libc::SYS_rt_sigqueueinfo] {
                assert_eq!(rules.contains_key(&call), reach == FilterScope::Program);
            }
            let is_conditional = |call| !rules[&call].is_empty();
            assert!(
                [libc::SYS_prlimit64, libc::SYS_ioctl, libc::SYS_clone].map(is_conditional)
                    == [true; 3]
            );
            for call in [libc::SYS_tgkill, libc::SYS_fcntl] {
                assert_eq!(is_conditional(call), reach == FilterScope::Reader);
            }
            let filter = SeccompFilter::new(
                rules,
                SeccompAction::Errno(38),
                SeccompAction::Allow,
                std::env::consts::ARCH.try_into().unwrap(),
            );
            let program: BpfProgram = filter.unwrap().try_into().unwrap();
            assert!(program.len() <= 4096, "{}", program.len());
        }
    }
}
