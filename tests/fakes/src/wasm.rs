//! Components with one tool, made from text: what a test lets run as a WASM tool.

/// The body of a component's function `run`, in the text format. It gets the arguments as `$p` and
/// `$l`, and returns the place of its result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Guest {
    /// Returns its arguments.
    Echo,
    /// Returns its arguments as an error.
    Fail,
    /// Never ends.
    Loop,
    /// Asks for memory until it gets none, and then traps.
    GrowMemory,
    /// Calls itself without end.
    Recurse,
    /// Writes the file of its text, and then traps.
    WriteAndTrap,
    /// Sends a request to the URL of its text, and returns the body.
    Get,
    /// The same with POST.
    Post,
    /// Returns the file of its text.
    Read,
    /// Writes its arguments into the file of its text.
    Write,
    /// Logs its arguments, and returns them.
    Log,
    /// Returns the time as eight bytes, in decimal.
    Now,
    /// Passes the same large header again and again, to exhaust the memory of the host.
    FloodHost,
}

/// What a component says about its tool, and what its tool does.
#[derive(Debug, Clone)]
pub struct Component {
    pub name: String,
    pub effect: GuestEffect,
    pub guest: Guest,
    /// A URL or path.
    pub text: String,
}

/// In the order of `wit/tool.wit`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GuestEffect {
    ReadOnly,
    Idempotent,
    AtMostOnce,
}

const DESCRIPTION: &str = "Does what a test wants.";
const PARAMETERS: &str = r#"{"type":"object","properties":{"say":{"type":"string"}}}"#;
/// Where the constants are in the memory.
const NAME_AT: usize = 64;
const DESCRIPTION_AT: usize = 256;
const PARAMETERS_AT: usize = 512;
const TEXT_AT: usize = 1024;
const METHOD_AT: usize = 3000;

impl Component {
    pub fn new(name: &str, guest: Guest) -> Self {
        let (name, text) = (name.to_owned(), String::new());
        Self { name, effect: GuestEffect::ReadOnly, guest, text }
    }

    #[must_use]
    pub fn about(self, text: impl Into<String>) -> Self {
        Self { text: text.into(), ..self }
    }

    #[must_use]
    pub fn with_effect(self, effect: GuestEffect) -> Self {
        Self { effect, ..self }
    }

    /// The component in the binary format.
    ///
    /// # Panics
    ///
    /// If the text below is not valid.
    pub fn bytes(&self) -> Vec<u8> {
        wat::parse_str(self.text_format()).expect("a valid component")
    }

    fn text_format(&self) -> String {
        let data = |at: usize, text: &str| {
            let bytes: Vec<_> = text.bytes().map(|byte| format!("\\{byte:02x}")).collect();
            let bytes = bytes.concat();
            format!("(data (i32.const {at}) \"{bytes}\")\n")
        };
        let method = if self.guest == Guest::Post { "POST" } else { "GET" };
        let data = [
            data(NAME_AT, &self.name),
            data(DESCRIPTION_AT, DESCRIPTION),
            data(PARAMETERS_AT, PARAMETERS),
            data(TEXT_AT, &self.text),
            data(METHOD_AT, method),
        ]
        .concat();
        let described = [
            (0, NAME_AT),
            (4, self.name.len()),
            (8, DESCRIPTION_AT),
            (12, DESCRIPTION.len()),
            (16, PARAMETERS_AT),
            (20, PARAMETERS.len()),
            (24, self.effect as usize),
        ];
        let described: Vec<_> = described
            .iter()
            .map(|(at, value)| format!("(i32.store (i32.const {at}) (i32.const {value}))\n"))
            .collect();
        let described = described.concat();
        let run = self.run(method.len());
        format!(
            "{HEAD}\n{MODULE}\n{data}\n(func (export \"describe\") (result i32)\n{described}(i32.const 0))\n{run})\n{TAIL}"
        )
    }

    fn run(&self, method_len: usize) -> String {
        let (at, len) = (TEXT_AT, self.text.len());
        let path = format!("(i32.const {at}) (i32.const {len})");
        let ok = "(call $result (i32.const 0) (local.get $p) (local.get $l))";
        let body = match self.guest {
            Guest::Echo => ok.to_owned(),
            Guest::Fail => "(call $result (i32.const 1) (local.get $p) (local.get $l))".to_owned(),
            Guest::Loop => "(loop $again (br $again)) (unreachable)".to_owned(),
            Guest::GrowMemory => "(loop $again (br_if $again (i32.ne (memory.grow (i32.const 16)) \
                (i32.const -1)))) (unreachable)"
                .to_owned(),
            Guest::Recurse => "(call $run (local.get $p) (local.get $l))".to_owned(),
            Guest::Read => format!("(call $read {path} (i32.const 40)) (call $passed)"),
            Guest::Write => format!(
                "(call $write {path} (local.get $p) (local.get $l) (i32.const 40))
                (if (result i32) (i32.load8_u (i32.const 40))
                    (then (call $passed)) (else {ok}))"
            ),
            Guest::WriteAndTrap => format!(
                "(call $write {path} (local.get $p) (local.get $l) (i32.const 40)) (unreachable)"
            ),
            Guest::Log => format!("(call $log (i32.const 1) (local.get $p) (local.get $l)) {ok}"),
            Guest::Now => "(call $decimal (call $now))".to_owned(),
            Guest::Get | Guest::Post => format!(
                "(call $send (i32.const {METHOD_AT}) (i32.const {method_len}) {path}
                    (i32.const 8) (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0)
                    (i32.const 40))
                (if (result i32) (i32.load8_u (i32.const 40))
                    (then (call $passed))
                    (else (call $result (i32.const 0) (i32.load (i32.const 56))
                        (i32.load (i32.const 60)))))"
            ),
            Guest::FloodHost => format!(
                "{FLOOD}
                (call $send (i32.const {METHOD_AT}) (i32.const {method_len}) {path}
                    (i32.const 1100000) (i32.const 1000) (i32.const 0) (i32.const 0) (i32.const 0)
                    (i32.const 40))
                {ok}"
            ),
        };
        format!(
            "(func $run (export \"run\") (param $p i32) (param $l i32) (result i32)
                (local $i i32)\n{body})"
        )
    }
}

/// Makes a list of a thousand headers, each of which is the first megabyte of the memory.
const FLOOD: &str = "(drop (memory.grow (i32.const 32)))
(loop $again
    (local.set $p (i32.add (i32.const 1100000) (i32.mul (local.get $i) (i32.const 16))))
    (i32.store (local.get $p) (i32.const 0))
    (i32.store offset=4 (local.get $p) (i32.const 1000000))
    (i32.store offset=8 (local.get $p) (i32.const 0))
    (i32.store offset=12 (local.get $p) (i32.const 1000000))
    (local.set $i (i32.add (local.get $i) (i32.const 1)))
    (br_if $again (i32.lt_u (local.get $i) (i32.const 1000))))";

/// The interface of `wit/tool.wit`, and its functions for the module.
const HEAD: &str = r#"(component
(import "countersign:tool/host@1.0.0" (instance $host
    (type $level' (enum "debug" "info" "warning" "error"))
    (export "level" (type $level (eq $level')))
    (type $header' (record (field "name" string) (field "value" string)))
    (export "header" (type $header (eq $header')))
    (type $request' (record (field "method" string) (field "url" string)
        (field "headers" (list $header)) (field "body" (option (list u8)))))
    (export "request" (type $request (eq $request')))
    (type $response' (record (field "status" u16) (field "headers" (list $header))
        (field "body" (list u8))))
    (export "response" (type $response (eq $response')))
    (export "log" (func (param "level" $level) (param "message" string)))
    (export "send" (func (param "request" $request)
        (result (result $response (error string)))))
    (export "read-file" (func (param "path" string) (result (result (list u8) (error string)))))
    (export "write-file" (func (param "path" string) (param "content" (list u8))
        (result (result (error string)))))
    (export "now" (func (result u64)))))
(core module $memory
    (memory (export "memory") 1)
    (global $free (mut i32) (i32.const 4096))
    (func (export "realloc") (param $old i32) (param $before i32) (param $align i32)
        (param $size i32) (result i32)
        (local $at i32)
        (local.set $at (i32.and (i32.add (global.get $free) (i32.const 7)) (i32.const -8)))
        (global.set $free (i32.add (local.get $at) (local.get $size)))
        (if (i32.gt_u (global.get $free) (i32.mul (memory.size) (i32.const 65536)))
            (then (if (i32.eq (i32.const -1) (memory.grow (i32.add (i32.const 1)
                (i32.shr_u (local.get $size) (i32.const 16)))))
                (then (unreachable)))))
        (local.get $at)))
(core instance $memory (instantiate $memory))
(alias core export $memory "memory" (core memory $memory))
(core func $log (canon lower (func $host "log") (memory (core memory $memory)) string-encoding=utf8))
(core func $send (canon lower (func $host "send") (memory (core memory $memory))
    (realloc (core func $memory "realloc")) string-encoding=utf8))
(core func $read (canon lower (func $host "read-file") (memory (core memory $memory))
    (realloc (core func $memory "realloc")) string-encoding=utf8))
(core func $write (canon lower (func $host "write-file") (memory (core memory $memory))
    (realloc (core func $memory "realloc")) string-encoding=utf8))
(core func $now (canon lower (func $host "now")))"#;

/// `$result` writes a result to address 32. `$passed` passes on one that the host has written to
/// address 40.
const MODULE: &str = r#"(core module $main
(import "memory" "memory" (memory 1))
(import "host" "log" (func $log (param i32 i32 i32)))
(import "host" "send" (func $send
    (param i32 i32 i32 i32 i32 i32 i32 i32 i32 i32)))
(import "host" "read" (func $read (param i32 i32 i32)))
(import "host" "write" (func $write (param i32 i32 i32 i32 i32)))
(import "host" "now" (func $now (result i64)))
(func $result (param $is_error i32) (param $at i32) (param $len i32) (result i32)
    (i32.store (i32.const 28) (local.get $is_error))
    (i32.store (i32.const 32) (local.get $at))
    (i32.store (i32.const 36) (local.get $len))
    (i32.const 28))
(func $passed (result i32)
    (call $result (i32.load8_u (i32.const 40)) (i32.load (i32.const 44))
        (i32.load (i32.const 48))))
(func $decimal (param $n i64) (result i32)
    (local $at i32)
    (local.set $at (i32.const 4000))
    (loop $again
        (local.set $at (i32.sub (local.get $at) (i32.const 1)))
        (i32.store8 (local.get $at) (i32.add (i32.const 48)
            (i32.wrap_i64 (i64.rem_u (local.get $n) (i64.const 10)))))
        (local.set $n (i64.div_u (local.get $n) (i64.const 10)))
        (br_if $again (i64.ne (local.get $n) (i64.const 0))))
    (call $result (i32.const 0) (local.get $at) (i32.sub (i32.const 4000) (local.get $at))))"#;

const TAIL: &str = r#"(core instance $main (instantiate $main
    (with "memory" (instance $memory))
    (with "host" (instance
        (export "log" (func $log))
        (export "send" (func $send))
        (export "read" (func $read))
        (export "write" (func $write))
        (export "now" (func $now))))))
(type $effect' (enum "read-only" "idempotent" "at-most-once"))
(export $effect "effect" (type $effect'))
(type $description' (record (field "name" string) (field "description" string)
    (field "parameters" string) (field "effect" $effect)))
(export $description "description" (type $description'))
(func $describe (result $description) (canon lift (core func $main "describe")
    (memory (core memory $memory)) string-encoding=utf8))
(func $run (param "arguments" string) (result (result string (error string)))
    (canon lift (core func $main "run") (memory (core memory $memory))
        (realloc (core func $memory "realloc")) string-encoding=utf8))
(export "describe" (func $describe))
(export "run" (func $run)))"#;
