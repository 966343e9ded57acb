//! Long tables in the confined process: it writes them row by row.

use countersign::testing::tools::{
    ToolError,
    documents::{
        pool::{RenderPool, RenderedDocument},
        protocol::RenderOptions,
    },
};
use sandbox::{Sandbox, SandboxLimits};
use serde_json::{Value, json};
use std::{
    io::{Cursor, Read as _},
    path::Path,
    sync::Arc,
};
use zip::ZipArchive;

use crate::support::program::{BINARY, sandbox};

const ROWS: usize = 30_000;
const COLUMNS: usize = 10;

/// The process takes 40 MiB before it reads anything, 32 of them for its stack. These rows take more
/// than 40 MiB in memory.
const MEMORY_BYTES: u64 = 64 << 20;

/// The workbook that a process with this memory makes.
async fn drawn(sandbox: Sandbox, text: Value) -> Result<RenderedDocument, ToolError> {
    let mut pool = RenderPool::new(Arc::new(sandbox), Vec::new());
    pool.limits = SandboxLimits { memory_bytes: MEMORY_BYTES, ..SandboxLimits::DRAWING };
    let options = json!({
        "format": "xlsx", "text": text, "title": "Rows", "date": null, "aspect": null, "assets": {},
    });
    let options: RenderOptions = serde_json::from_value(options).unwrap();
    pool.draw(options).await
}

fn csv() -> String {
    let cells = |row: usize| (0..COLUMNS).map(move |column| format!("{row}.{column}"));
    let line = |row: usize| cells(row).collect::<Vec<_>>().join(",") + "\n";
    let header = (0..COLUMNS).map(|column| format!("c{column}")).collect::<Vec<_>>().join(",");
    header + "\n" + &(0..ROWS).map(line).collect::<String>()
}

/// With and without bubblewrap, in memory that the rows would not fit into.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_rows_of_a_long_csv_are_never_in_memory_together() {
    let bare = Sandbox::without_bubblewrap(Path::new(BINARY), "a test");
    for sandbox in [sandbox().await, bare] {
        let workbook = drawn(sandbox, json!({ "Csv": csv() })).await.unwrap().file;
        assert_eq!(workbook.warnings, Vec::<&str>::new());
        let mut package = ZipArchive::new(Cursor::new(workbook.bytes)).unwrap();
        let mut sheet = String::new();
        package.by_name("xl/worksheets/sheet1.xml").unwrap().read_to_string(&mut sheet).unwrap();
        assert_eq!(sheet.matches("<row ").count(), ROWS + 1);
        assert_eq!(sheet.matches("<c ").count(), (ROWS + 1) * COLUMNS);
    }
}

/// The limit is real: a table that is built in memory exceeds it.
#[tokio::test]
async fn rows_in_memory_exceed_the_limit() {
    let row = |_| json!(vec!["cell"; COLUMNS]);
    let rows: Vec<Value> = (0..ROWS / 2).map(row).collect();
    let refused = drawn(sandbox().await, json!({ "Json": rows })).await.err().unwrap();
    assert!(refused.to_string().contains("more than 64 MiB of memory"), "{refused}");
}
