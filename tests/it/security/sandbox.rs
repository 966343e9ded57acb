//! S7: confined processes have no access to other data. Each probe prints ESCAPED when it gets out;
//! if it is harmless, a control run shows that it would, unconfined.

use countersign::testing::{
    agent::catalog::Tier,
    clock::SystemClock,
    store::{Store, StoreOptions, db::Durability},
    tools::{
        ToolError,
        documents::confined_jobs::ConfinedJob,
        mcp::{ConnectionMode, McpConfig, Protocol, Server},
        web::client::WebClient,
    },
};
use fakes::web::FakeWeb;
use parking_lot::Mutex;
use sandbox::{
    Job, Sandbox, SandboxLimits, Work,
    egress::Egress,
    profile::Profile,
    run::{self, ProgramResult},
    service::{ServerNetwork, ServerSandbox},
};
use std::{
    collections::BTreeMap,
    fs,
    net::TcpListener,
    os::unix::fs::symlink,
    os::{
        fd::AsRawFd as _,
        linux::net::SocketAddrExt as _,
        unix::{
            fs::{MetadataExt as _, PermissionsExt as _},
            net::{SocketAddr, UnixListener},
        },
    },
    path::Path,
    process::Command,
    sync::Arc,
    time::{Duration, Instant},
};
use tempfile::TempDir;

use crate::support::program::{BINARY, sandbox};

const WAIT: Duration = Duration::from_secs(30);

/// Two conversations' folders, and a secret beside them.
struct Fixture {
    sandbox: Sandbox,
    folder: TempDir,
}

impl Fixture {
    async fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("mine")).unwrap();
        fs::create_dir(folder.path().join("yours")).unwrap();
        fs::write(folder.path().join("yours/secret"), "ESCAPED").unwrap();
        Self { sandbox: sandbox().await, folder }
    }

    fn path(&self, name: &str) -> String {
        self.folder.path().join(name).to_string_lossy().into_owned()
    }

    async fn runs_for(&self, script: &str, wait: Duration) -> ProgramResult {
        let program = ["/bin/sh", "-c", script].map(str::to_owned).to_vec();
        let cell = Profile::around(Job::new(Work::Program(program), Some(SandboxLimits::COMMAND)))
            .with_workspace(&self.folder.path().join("mine"));
        run::to_its_end(self.sandbox.confined_command(&cell).unwrap(), Vec::new(), wait)
            .await
            .unwrap()
    }

    /// The probe runs to its end and does not escape.
    async fn holds(&self, name: &str, script: &str) {
        let ended = self.runs_for(&format!("{script}\necho DONE"), WAIT).await;
        let said = format!("{}{}", ended.stdout.text(), ended.stderr.text());
        assert!(said.contains("DONE"), "{name} did not run: {said}");
        assert!(!said.contains("ESCAPED"), "{name} got out: {said}");
    }

    /// It escapes if it is not confined.
    async fn holds_what_would_escape(&self, name: &str, script: &str) {
        let mut free = Command::new("/bin/sh");
        free.args(["-c", script]).current_dir(self.folder.path().join("mine"));
        let free = free.output().unwrap();
        let said = String::from_utf8_lossy(&free.stdout).into_owned();
        assert!(said.contains("ESCAPED"), "{name} proves nothing: {said} {free:?}");
        // Leftovers of it must not help the control run.
        fs::remove_dir_all(self.path("mine")).unwrap();
        fs::create_dir(self.path("mine")).unwrap();
        self.holds(name, script).await;
    }
}

fn python(code: &str) -> String {
    format!(
        "python3 -c '\nimport ctypes, os, socket\nlibc = ctypes.CDLL(None, use_errno=True)\n{code}\n'"
    )
}

/// Inherited or leaked file descriptors of the gateway are not passed on.
/// Proves S7.
#[tokio::test]
async fn open_files_of_the_gateway_stay_outside() {
    let fixture = Fixture::new().await;
    let secret = fs::File::open(fixture.path("yours/secret")).unwrap();
    rustix::io::fcntl_setfd(&secret, rustix::io::FdFlags::empty()).unwrap();
    let descriptor = secret.as_raw_fd();
    let read = format!("os.lseek({descriptor}, 0, 0)\nprint(os.read({descriptor}, 100).decode())");
    fixture.holds_what_would_escape("a descriptor", &python(&read)).await;
    let list = "for fd in /proc/1/fd/* /proc/self/fd/*; do readlink $fd; done | grep secret \
                && echo ESCAPED";
    fixture.holds("the list of descriptors", list).await;
}

/// Proves S7.
#[tokio::test]
async fn no_way_to_the_network_leads_out() {
    let fixture = Fixture::new().await;
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let connect =
        format!("socket.create_connection((\"127.0.0.1\", {port}), 5)\nprint(\"ESCAPED\")");
    fixture.holds_what_would_escape("tcp to this machine", &python(&connect)).await;
    let name = format!("countersign-{port}");
    let _abstract =
        UnixListener::bind_addr(&SocketAddr::from_abstract_name(&name).unwrap()).unwrap();
    let connect =
        format!("s = socket.socket(socket.AF_UNIX)\ns.connect(\"\\0{name}\")\nprint(\"ESCAPED\")");
    fixture.holds_what_would_escape("an abstract socket", &python(&connect)).await;
    let path = fixture.path("yours/socket");
    let _named = UnixListener::bind(&path).unwrap();
    let connect =
        format!("s = socket.socket(socket.AF_UNIX)\ns.connect(\"{path}\")\nprint(\"ESCAPED\")");
    fixture.holds_what_would_escape("a socket in a folder", &python(&connect)).await;
    for (name, code) in [
        ("udp", "socket.socket(2, 2).sendto(b\"x\", (\"192.0.2.1\", 53))"),
        ("tcp elsewhere", "socket.create_connection((\"1.1.1.1\", 53), 3)"),
        ("IPv6", "socket.create_connection((\"2606:4700:4700::1111\", 53), 3)"),
        ("names", "socket.getaddrinfo(\"example.org\", 80)"),
        ("interfaces", "assert [n for _, n in socket.if_nameindex() if n != \"lo\"]"),
        ("a raw socket", "socket.socket(2, 3, 1)"),
        ("a packet socket", "socket.socket(17, 3)"),
        ("netlink", "socket.socket(16, 3)"),
        ("a socket of the virtual machine", "socket.socket(40, 1)"),
        ("the kernel's cryptography", "socket.socket(38, 5)"),
        ("bluetooth", "socket.socket(31, 3)"),
    ] {
        fixture.holds(name, &python(&format!("{code}\nprint(\"ESCAPED\")"))).await;
    }
}

/// With configured hosts the only way out is to them; all others stay unreachable.
/// Proves S7.
#[tokio::test]
async fn a_command_reaches_the_hosts_that_are_named() {
    let fixture = Fixture::new().await;
    let server = FakeWeb::start().await;
    let place = server.url().trim_start_matches("http://").to_owned();
    let web_client = WebClient::new(["127.0.0.1".to_owned()].into()).unwrap();
    let egress = Arc::new(Egress::to(std::slice::from_ref(&place), web_client).unwrap());
    let socket = fixture.folder.path().join("way");
    let open = egress.open(&socket).unwrap();
    let ask = |place: &str| {
        python(&format!(
            "s = socket.create_connection((\"127.0.0.1\", 3128), 5)\n\
             s.sendall(b\"CONNECT {place} HTTP/1.1\\r\\n\\r\\nGET /echo HTTP/1.0\\r\\n\\r\\n\")\n\
             print(s.makefile().read())"
        ))
    };
    let (host, port) = place.split_once(':').unwrap();
    let direct = format!("socket.create_connection((\"{host}\", {port}), 5)\nprint(\"ESCAPED\")");
    let script = format!(
        "echo $https_proxy; {}; {}; {}",
        ask(&place),
        ask("example.org:443"),
        python(&direct)
    );
    let program = ["/bin/sh", "-c", &script].map(str::to_owned).to_vec();
    let cell = Profile::around(Job::new(Work::Program(program), Some(SandboxLimits::COMMAND)))
        .with_workspace(&fixture.folder.path().join("mine"))
        .with_proxy_socket(&socket);
    let ended = tokio::select! {
        ended = run::to_its_end(fixture.sandbox.confined_command(&cell).unwrap(), Vec::new(), WAIT) => ended,
        never = open.serve() => match never {},
    };
    let said = ended.unwrap().stdout.text();
    assert!(said.starts_with("http://127.0.0.1:3128\n"), "{said}");
    assert!(said.contains("200 Connection established") && said.contains("GET /echo"), "{said}");
    assert!(said.contains("403 Forbidden") && !said.contains("ESCAPED"), "{said}");
    assert_eq!(server.asked().len(), 1);
    fixture.holds("the way of others", &format!("{} 2>&1 && echo ESCAPED", ask(&place))).await;
}

/// Proves S7.
#[tokio::test]
async fn no_file_of_others_is_read_or_written() {
    let fixture = Fixture::new().await;
    let secret = fixture.path("yours/secret");
    for (name, script) in [
        ("another workspace", format!("cat {secret}")),
        ("a link out", format!("ln -sf {secret} link; cat link")),
        ("a second name", format!("ln -f {secret} second; cat second")),
        ("the way up", "cat ../yours/secret".to_owned()),
        ("writing elsewhere", format!("echo x >>{secret} && echo ESCAPED")),
        ("environment", "env | grep -q ^CARGO && echo ESCAPED".to_owned()),
        (
            "environment of others",
            "cat /proc/*/environ 2>/dev/null | tr '\\0' '\\n' | grep -q ^CARGO && echo ESCAPED"
                .to_owned(),
        ),
        (
            // Pipes inherited from the test runner are not ours to close.
            "descriptors",
            "readlink /proc/self/fd/* | grep -vE '^(pipe:|/proc/|/dev/)' && echo ESCAPED"
                .to_owned(),
        ),
    ] {
        match name {
            // There must be none unconfined either, or the secret would be spoilt for the other
            // tests.
            "writing elsewhere" | "descriptors" => fixture.holds(name, &script).await,
            _ => fixture.holds_what_would_escape(name, &script).await,
        }
    }
    assert_eq!(fs::read_to_string(&secret).unwrap(), "ESCAPED");
    for (name, script) in [
        ("the root of process 1", format!("cat /proc/1/root{secret} /proc/1/cwd{secret}")),
        ("/etc/shadow", "test -r /etc/shadow && echo ESCAPED".into()),
        ("/etc/passwd", "echo x 2>/dev/null >>/etc/passwd && echo ESCAPED".into()),
        ("/usr", "touch /usr/bin/x 2>/dev/null && echo ESCAPED".into()),
        ("the root", "touch /x /run/x 2>/dev/null && echo ESCAPED".into()),
        ("our binary", "echo x 2>/dev/null >/run/countersign && echo ESCAPED".into()),
        ("homes", "ls /root /home /var /srv /boot /sys 2>/dev/null | grep -q . && echo ESCAPED".into()),
        ("services", "ls /run/*.sock /var/run 2>/dev/null | grep -q . && echo ESCAPED".into()),
        (
            "the kernel's settings",
            "for f in sys/kernel/core_pattern sys/kernel/hostname sysrq-trigger sys/vm/drop_caches; \
             do echo 1 2>/dev/null >/proc/$f && echo ESCAPED; done; true".into(),
        ),
        ("memory limits of the kernel's", "echo -1000 2>/dev/null >/proc/1/oom_score_adj && echo ESCAPED".into()),
        ("devices", "ls /dev | grep -E '^(sd|vd|nvme|mem|kmsg|loop|fuse|kvm)' && echo ESCAPED".into()),
        (
            "a device of one's own",
            python("os.mknod(\"/tmp/d\", 0o60600, os.makedev(254, 0))\nopen(\"/tmp/d\", \"rb\").read(1)\nprint(\"ESCAPED\")"),
        ),
    ] {
        fixture.holds(name, &script).await;
    }
}

/// Proves S7.
#[tokio::test]
async fn no_other_process_is_seen_or_touched() {
    let fixture = Fixture::new().await;
    let us = std::process::id();
    let script = format!("kill -0 {us} && echo ESCAPED");
    fixture.holds_what_would_escape("a signal to us", &script).await;
    let script = format!("test -d /proc/{us} && echo ESCAPED");
    fixture.holds_what_would_escape("the sight of us", &script).await;
    for (name, script) in [
        ("killing the first process", "kill -9 1; kill -9 -1 2>/dev/null; sleep 0.1"),
        ("stopping the first process", "kill -STOP 1; sleep 0.1"),
        (
            "capabilities",
            "grep -E 'Cap(Eff|Prm|Bnd|Amb)' /proc/self/status | grep -v 0000000000000000 && echo ESCAPED",
        ),
        (
            "a program with another owner",
            "cp /usr/bin/id i; chmod 4755 i; ./i -u | grep -qx 0 && echo ESCAPED; su -c 'echo ESCAPED' </dev/null",
        ),
        (
            "looser limits",
            "ulimit -d unlimited 2>/dev/null && echo ESCAPED; ulimit -u 100000 2>/dev/null && echo ESCAPED; true",
        ),
        (
            "a sandbox in the sandbox",
            "bwrap --ro-bind / / true 2>/dev/null && echo ESCAPED; unshare -r true 2>/dev/null && echo ESCAPED; true",
        ),
    ] {
        fixture.holds(name, script).await;
    }
}

/// By number, since no library is involved.
/// Proves S7.
#[cfg(target_arch = "x86_64")]
#[tokio::test]
async fn calls_into_the_kernel_are_closed() {
    let fixture = Fixture::new().await;
    for (name, call) in [
        ("ptrace", "101, 0, 0, 0, 0"),
        ("process_vm_readv", "310, 1, 0, 0, 0, 0, 0"),
        ("pidfd_getfd", "438, 3, 0, 0"),
        ("mount", "165, b\"none\", b\"/tmp\", b\"tmpfs\", 0, 0"),
        ("umount", "166, b\"/usr\", 2"),
        ("remount", "165, 0, b\"/usr\", 0, 32, 0"),
        ("fsopen", "430, b\"tmpfs\", 0"),
        ("open_tree", "428, -100, b\"/\", 1"),
        ("pivot_root", "155, b\".\", b\".\""),
        ("chroot", "161, b\"/tmp\""),
        ("unshare user", "272, 0x10000000"),
        ("unshare mounts", "272, 0x20000"),
        ("clone user", "56, 0x10000011, 0, 0, 0, 0"),
        ("clone3", "435, 0, 0"),
        ("setns", "308, 0, 0"),
        ("bpf", "321, 0, 0, 0"),
        ("perf_event_open", "298, 0, 0, -1, -1, 0"),
        ("userfaultfd", "323, 0"),
        ("io_uring", "425, 1, 0"),
        ("keyctl", "250, 0, -3, 1"),
        ("add_key", "248, b\"user\", b\"x\", b\"y\", 1, -3"),
        ("open_by_handle_at", "304, -100, 0, 0"),
        ("kexec_load", "246, 0, 0, 0, 0"),
        ("init_module", "175, 0, 0, b\"\""),
        ("memfd_create", "319, b\"x\", 0"),
        ("shmget", "29, 0, 1000000, 0o1600"),
        ("semget", "64, 0, 1, 0o1600"),
        ("prlimit of init", "302, 1, 7, (ctypes.c_ulong * 2)(3, 3), 0"),
        ("sched_setaffinity of init", "203, 1, 8, (ctypes.c_ulong * 1)(1)"),
        ("sched_setscheduler of init", "144, 1, 5, (ctypes.c_int * 1)(0)"),
        ("setpriority of init", "141, 0, 1, 19"),
        ("setpriority of the group of init", "141, 1, 1, 19"),
        ("setpriority of the user", "141, 2, 0, 19"),
        ("personality", "135, 0xffffffff"),
        ("syslog", "103, 3, 0, 0"),
        ("clock_settime", "227, 0, 0"),
        ("sethostname", "170, b\"x\", 1"),
        ("the other numbering", "0x40000000 + 39"),
        ("what later kernels have", "500, 0, 0"),
    ] {
        let code = format!(
            "r = libc.syscall({call})\nif r != -1 or ctypes.get_errno() != 38: print(\"ESCAPED\", r, ctypes.get_errno())"
        );
        fixture.holds(name, &python(&code)).await;
    }
    let own =
        "ulimit -n 100 && nice -n 5 taskset 1 prlimit --pid 1 --nofile >/dev/null || echo ESCAPED";
    fixture.holds("the program's own limits can be changed, and others read", own).await;
    let terminal = "import fcntl\nfcntl.ioctl(0, 0x5412, b\"x\")\nprint(\"ESCAPED\")";
    fixture.holds("words in the terminal's mouth", &python(terminal)).await;
}

/// Proves S7.
#[tokio::test]
async fn bombs_end_and_nothing_else_does() {
    let fixture = Fixture::new().await;
    let started = Instant::now();
    let ended = fixture.runs_for(":(){ :|:& };:; sleep 20", WAIT).await;
    assert!(
        ended.stderr.text().contains("more than 128 processes") || ended.code != Some(0),
        "{ended:?}"
    );
    for (name, code) in [
        ("one large block", "b = bytearray(4 << 30)"),
        ("growing", "b = []\nwhile True: b.append(bytearray(16 << 20))"),
        (
            "many that grow",
            "for _ in range(8):\n  if os.fork() == 0:\n    b = bytearray(600 << 20)\n    import time; time.sleep(20)\nos.wait()",
        ),
        (
            "growing behind a flood of orphans",
            "for _ in range(4):\n  if os.fork() == 0:\n    b = bytearray(600 << 20)\n    import time; time.sleep(40)\nfor _ in range(4): os.fork()\nwhile True:\n  if os.fork() == 0:\n    os.fork()\n    os._exit(0)\n  os.wait()",
        ),
        (
            "files without end",
            "for n in range(1000000): os.close(os.open(f\"/tmp/{n}\", os.O_CREAT))",
        ),
    ] {
        let ended = fixture.runs_for(&format!("exec {}", python(code)), WAIT).await;
        assert!(!ended.timed_out && ended.code != Some(0), "{name}: {ended:?}");
    }
    fixture.holds("a file without end", "head -c 400M /dev/zero >big; test $(stat -c %s big) -gt 268435456 && echo ESCAPED; rm -f big").await;
    fixture.holds("/tmp without end", "for n in 1 2 3; do head -c 200M /dev/zero >/tmp/$n || true; done; test $(du -sm /tmp | cut -f1) -gt 300 && echo ESCAPED").await;
    fixture.holds("/dev/shm without end", "for n in 1 2 3; do head -c 200M /dev/zero >/dev/shm/$n || true; done; test $(du -sm /dev/shm | cut -f1) -gt 300 && echo ESCAPED").await;
    let many = "for n in $(seq 100); do head -c 255M /dev/zero >f$n; done; echo ESCAPED";
    let ended = fixture.runs_for(many, Duration::from_mins(1)).await;
    assert!(ended.stderr.text().contains("it filled the disk"), "{ended:?}");
    assert!(!ended.stdout.text().contains("ESCAPED"));
    assert!(started.elapsed() < Duration::from_mins(3), "{:?}", started.elapsed());
}

/// All descendants of a command end with it, however they hide, and also on timeout and
/// cancellation.
/// Proves T7.
#[tokio::test]
async fn all_descendants_of_a_command_end_with_it() {
    let fixture = Fixture::new().await;
    let hide = "(setsid nohup sh -c 'sleep 2; touch late' >/dev/null 2>&1 &) ; exit 3";
    let ended = fixture.runs_for(hide, WAIT).await;
    assert_eq!(ended.code, Some(3));
    let started = Instant::now();
    let late = "setsid sh -c 'sleep 2; touch late' & sleep 400";
    let ended = fixture.runs_for(late, Duration::from_secs(1)).await;
    assert!(ended.timed_out && ended.code.is_none() && started.elapsed() < Duration::from_secs(10));
    let dropped = tokio::time::timeout(Duration::from_secs(1), fixture.runs_for(late, WAIT)).await;
    assert!(dropped.is_err());
    // A separate command waits until the others would have acted.
    assert_eq!(fixture.runs_for("sleep 3; ls late", WAIT).await.stdout.text(), "");
    assert!(!Path::new(&fixture.path("mine/late")).exists());
}

/// In the image the gateway is not root, and the sandbox works all the same.
/// Proves S7.
#[tokio::test]
async fn the_sandbox_confines_root_and_others() {
    let sandbox = sandbox().await;
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let copy = folder.path().join("countersign");
    if fs::hard_link(BINARY, &copy).is_err() {
        fs::copy(BINARY, &copy).unwrap();
    }
    let program = ["/bin/sh", "-c", "echo works | cat | cat"].map(str::to_owned).to_vec();
    for (work, said) in [(Work::Probe, "confined"), (Work::Program(program), "works\n")] {
        let cell = Profile::around(Job::new(work, Some(SandboxLimits::COMMAND)));
        let confined_command = sandbox.confined_command(&cell).unwrap();
        let mut other = Command::new("setpriv");
        if fs::metadata("/proc/self").unwrap().uid() == 0 {
            other.args(["--reuid", "65534", "--regid", "65534", "--clear-groups"]);
        }
        other.arg("--no-new-privs").arg(confined_command.as_std().get_program());
        let arguments = confined_command.as_std().get_args();
        other.args(arguments.map(|arg| if arg == BINARY { copy.as_os_str() } else { arg }));
        let ended = other.env_clear().output().unwrap();
        assert_eq!(String::from_utf8_lossy(&ended.stdout), said, "{ended:?}");
    }
}

/// A missing requirement disables the tool, with a message that says what to install.
/// Proves S7.
#[tokio::test]
async fn without_bubblewrap_nothing_runs() {
    let broken = Sandbox::probe(Path::new("/bin/true")).await;
    let why = broken.missing().unwrap();
    assert!(why.contains("cannot be set up") && why.contains("bubblewrap"), "{why}");
    let cell = Profile::around(Job::new(Work::Program(vec!["/bin/true".into()]), None));
    let refused = ToolError::from(broken.confined_command(&cell).unwrap_err()).to_string();
    assert!(refused.starts_with("Sandbox: "), "{refused}");
    let reader = ConfinedJob::Read("a.pdf".into()).command(&broken, SandboxLimits::DOCUMENT);
    assert!(reader.is_err());
}

/// A local MCP server has the network and the machine's files, but neither our data nor other
/// people's processes, and writes only to its folders.
/// Proves S16.
#[tokio::test]
async fn a_server_is_confined_and_works() {
    let fixture = Fixture::new().await;
    fs::create_dir(fixture.folder.path().join("named")).unwrap();
    let confined = ServerSandbox {
        sandbox: Arc::new(fixture.sandbox.clone()),
        home: fixture.folder.path().join("yours/mcp/one"),
        hidden: vec![fixture.folder.path().join("yours")],
        folders: vec![fixture.folder.path().join("named")],
        network: ServerNetwork::Machine,
    };
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let connect =
        python(&format!("socket.create_connection((\"127.0.0.1\", {port}), 5)\nprint(\"online\")"));
    let script = format!(
        "{connect}; echo x >$HOME/kept && echo home; echo x >{named}/made && echo named; \
         cat {secret}; echo x >{mine}/made && echo ESCAPED; test -d /proc/{us} && echo ESCAPED; \
         env | grep ^CARGO && echo ESCAPED; ls /run/*.sock && echo ESCAPED; head -1 /etc/passwd | cut -d: -f1",
        named = fixture.path("named"),
        secret = fixture.path("yours/secret"),
        mine = fixture.path("mine"),
        us = std::process::id(),
    );
    for _ in 0..2 {
        let program = ["/bin/sh", "-c", &script].map(str::to_owned);
        let command = confined.command(&program, None).unwrap();
        let ended = run::to_its_end(command, Vec::new(), WAIT).await.unwrap();
        assert_eq!(ended.stdout.text(), "online\nhome\nnamed\nroot\n", "{ended:?}");
    }
    assert!(Path::new(&fixture.path("yours/mcp/one/kept")).exists());
    for (name, bomb) in [
        ("processes without end", ":(){ :|:& };:; sleep 20; echo ESCAPED".to_owned()),
        ("one large block", python("b = bytearray(8 << 30)\nprint(\"ESCAPED\")")),
        ("a file without end", "truncate -s 3G $HOME/big && echo ESCAPED".to_owned()),
    ] {
        let program = ["/bin/sh", "-c", &bomb].map(str::to_owned);
        let ended =
            run::to_its_end(confined.command(&program, None).unwrap(), Vec::new(), WAIT).await;
        let ended = ended.unwrap();
        let escaped = ended.timed_out || ended.stdout.text().contains("ESCAPED");
        assert!(!escaped, "{name}: {ended:?}");
    }
    let off =
        ServerSandbox { sandbox: Arc::new(Sandbox::off("bubblewrap is missing")), ..confined };
    assert!(
        off.command(&["/bin/true".to_owned()], None).unwrap_err().to_string().contains("missing")
    );
}

/// Our data is hidden, also in a folder that the server may write; other files are visible, except
/// below `/tmp`, of which a server has its own.
/// Proves S16.
#[tokio::test]
async fn a_server_does_not_see_what_is_ours() {
    // A server has its own `/tmp`, so the test files must be elsewhere, wherever this checkout is.
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let at = |name: &str| folder.path().join(name);
    for name in ["data", ".ssh", "project", "project/data", "project/data/open"] {
        fs::create_dir(at(name)).unwrap();
    }
    for name in ["countersign.toml", ".ssh/id", "data/db", "project/.env", "project/data/db"] {
        fs::write(at(name), "ESCAPED").unwrap();
    }
    fs::write(at("plain"), "plain\n").unwrap();
    fs::write(at("project/data/open/plain"), "open\n").unwrap();
    let hidden = ["countersign.toml", ".ssh", "data", "project/.env", "project/data", "gone"];
    let confined = ServerSandbox {
        sandbox: Arc::new(sandbox().await),
        home: at("data/mcp/one"),
        hidden: hidden.map(at).to_vec(),
        folders: vec![at("project"), at("project/data/open")],
        network: ServerNetwork::None,
    };
    let script = "cat countersign.toml .ssh/id data/db project/.env project/data/db; \
                  cat plain project/data/open/plain; echo x >project/made && echo made; \
                  head -c 1M /dev/zero >project/data/large && echo ESCAPED";
    let script = format!("cd {} && {script}", folder.path().display());
    let command = confined.command(&["/bin/sh", "-c", &script].map(str::to_owned), None).unwrap();
    let ended = run::to_its_end(command, Vec::new(), WAIT).await.unwrap();
    assert_eq!(ended.stdout.text(), "plain\nopen\nmade\n", "{ended:?}");
    assert!(at("project/made").exists());
}

/// A folder reached through symbolic links is as visible or hidden as its target, also below
/// `/tmp`, where the links themselves are not visible.
/// Proves S16.
#[tokio::test]
async fn symbolic_links_lead_to_what_they_name() {
    for around in ["/var/tmp", "/tmp"] {
        let (real, links) =
            (tempfile::tempdir_in("/var/tmp").unwrap(), tempfile::tempdir_in(around).unwrap());
        let (real, links) = (real.path(), links.path());
        fs::create_dir(real.join("project")).unwrap();
        fs::write(real.join("project/plain"), "plain\n").unwrap();
        fs::write(real.join("secret"), "ESCAPED").unwrap();
        symlink(real, links.join("first")).unwrap();
        symlink("first", links.join("second")).unwrap();
        let named = links.join("second/project");
        let confined = ServerSandbox {
            sandbox: Arc::new(sandbox().await),
            home: links.join("first/home"),
            hidden: vec![links.join("second/secret")],
            folders: vec![named.clone()],
            network: ServerNetwork::None,
        };
        let script = format!(
            "cat {0}/secret {1}/secret; cat {2}/plain; echo x >{2}/made && echo made",
            links.join("second").display(),
            real.display(),
            named.display(),
        );
        let command =
            confined.command(&["/bin/sh", "-c", &script].map(str::to_owned), None).unwrap();
        let ended = run::to_its_end(command, Vec::new(), WAIT).await.unwrap();
        assert_eq!(ended.stdout.text(), "plain\nmade\n", "{ended:?}");
        assert!(real.join("project/made").exists());
    }
}

/// A server with a list of hosts reaches those through its proxy as long as it runs, and nothing
/// else.
/// Proves S7.
#[tokio::test]
async fn a_server_reaches_only_its_hosts() {
    let web = FakeWeb::start().await;
    let allowed = web.url().trim_start_matches("http://").to_owned();
    let client = WebClient::new(["127.0.0.1".to_owned()].into()).unwrap();
    let egress = Arc::new(Egress::to(std::slice::from_ref(&allowed), client).unwrap());
    let home = tempfile::tempdir_in("/var/tmp").unwrap();
    let confined = ServerSandbox {
        sandbox: Arc::new(sandbox().await),
        home: home.path().join("home"),
        hidden: Vec::new(),
        folders: Vec::new(),
        network: ServerNetwork::Hosts(egress),
    };
    let script = format!(
        "import os, socket\n\
         proxy = os.environ['HTTPS_PROXY'].removeprefix('http://').split(':')\n\
         for place in ['{allowed}', '127.0.0.1:1', 'example.org:443']:\n\
         \x20 s = socket.create_connection((proxy[0], int(proxy[1])), 5)\n\
         \x20 s.sendall(('CONNECT ' + place + ' HTTP/1.1\\r\\n\\r\\n').encode())\n\
         \x20 print(s.recv(12).decode())\n\
         try:\n\
         \x20 host, port = '{allowed}'.split(':')\n\
         \x20 socket.create_connection((host, int(port)), 2); print('ESCAPED')\n\
         except OSError:\n\
         \x20 print('unreachable')\n"
    );
    let program = ["python3", "-c", &script].map(str::to_owned);
    let proxy = confined.network.open().unwrap();
    let command = confined.command(&program, proxy.as_ref()).unwrap();
    let ended = run::to_its_end(command, Vec::new(), WAIT).await.unwrap();
    let expected = "HTTP/1.1 200\nHTTP/1.1 403\nHTTP/1.1 403\nunreachable\n";
    assert_eq!(ended.stdout.text(), expected, "{ended:?}");
}

/// The official Python server, confined.
/// Proves S16, CA-31.
#[tokio::test]
async fn the_official_server_works_confined() {
    let python = std::env::var("COUNTERSIGN_TEST_PYTHON").expect("tests/run names a Python");
    let fixture = Fixture::new().await;
    let server = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/peers/mcp_server.py");
    // The server has its own `/tmp`, which may contain this checkout.
    let environment = Path::new(&python).parent().and_then(Path::parent).unwrap();
    let folders = vec![server.parent().unwrap().to_owned(), environment.to_owned()];
    let server = server.to_str().unwrap().to_owned();
    let config = McpConfig {
        name: "py".into(),
        command: Some(vec![python.clone(), server, "stdio".into()]),
        url: None,
        env: BTreeMap::new(),
        tier: Tier::Extension,
        protocol: Protocol::Auto,
        connection: ConnectionMode::Shared,
        bearer: None,
        oauth: None,
        login: None,
        headers: BTreeMap::new(),
        checked_client: None,
        sandbox: Some(ServerSandbox {
            sandbox: Arc::new(fixture.sandbox.clone()),
            home: fixture.folder.path().join("yours/mcp/py"),
            hidden: vec![fixture.folder.path().join("yours")],
            folders,
            network: ServerNetwork::Machine,
        }),
    };
    let url = format!("sqlite://{}", fixture.path("pins.db"));
    let options = StoreOptions { durability: Durability::Normal, ..StoreOptions::default() };
    let store = Store::open(&url, options).await.unwrap();
    let server = |config| Server::new(config, store.clone(), Arc::new(SystemClock));
    let tools = server(config.clone()).tools().await.unwrap();
    assert!(tools.iter().any(|tool| tool.spec().name == "py_add"));
    let mut off = config;
    off.sandbox.as_mut().unwrap().sandbox = Arc::new(Sandbox::off("bubblewrap is missing"));
    let Err(refused) = server(off).tools().await else { panic!("it ran without its sandbox") };
    let refused = refused.to_string();
    assert!(
        refused.contains("bubblewrap is missing") && refused.contains("sandbox = false"),
        "{refused}"
    );
}

/// A job without a probe is confined by bubblewrap, and is done again only with less: without it,
/// where it does not work.
#[tokio::test]
async fn a_job_without_a_probe_is_confined_first() {
    let attempts = async |program: &str| {
        let without_bubblewrap = Mutex::new(Vec::new());
        let fails = async |sandbox: Sandbox| {
            without_bubblewrap.lock().push(sandbox.missing().is_some());
            Err::<(), _>("a failure")
        };
        Sandbox::once(Path::new(program), fails).await.unwrap_err();
        without_bubblewrap.into_inner()
    };
    assert_eq!(attempts(BINARY).await, [false], "the job itself was the reason");
    // This program does not answer the probe.
    assert_eq!(attempts("/bin/true").await, [false, true]);
}
