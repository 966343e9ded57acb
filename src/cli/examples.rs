//! The examples in the help of each command.

pub(super) const CLI: &str = "\
Examples:
  countersign init
  countersign
  countersign token
  countersign pair --role member
  countersign doctor --live";

pub(super) const SERVE: &str = "\
Examples:
  countersign
  countersign serve --config /etc/countersign/countersign.toml
  countersign serve --listen 0.0.0.0:8642";

pub(super) const INIT: &str = "\
Examples:
  countersign init
  countersign init --config bots/countersign.toml";

pub(super) const CHAT: &str = "\
Examples:
  countersign chat";

pub(super) const CHECK: &str = "\
Examples:
  countersign check
  countersign check --json";

pub(super) const DOCTOR: &str = "\
Examples:
  countersign doctor
  countersign doctor --live
  countersign doctor --json";

pub(super) const MIGRATE: &str = "\
Examples:
  countersign migrate";

pub(super) const CONFIG: &str = "\
Examples:
  countersign config print
  countersign config example > countersign.toml";

pub(super) const CONFIG_PRINT: &str = "\
Examples:
  countersign config print";

pub(super) const CONFIG_SCHEMA: &str = "\
Examples:
  countersign config schema > countersign.schema.json";

pub(super) const CONFIG_EXAMPLE: &str = "\
Examples:
  countersign config example > countersign.toml";

pub(super) const BACKUP: &str = "\
Examples:
  countersign backup /srv/backup/countersign.tar";

pub(super) const RESTORE: &str = "\
Examples:
  countersign restore /srv/backup/countersign.tar";

pub(super) const GUARD: &str = "\
Examples:
  countersign guard test shell '{\"command\":\"rm -rf x\"}'
  countersign guard export > rules.toml
  countersign guard import rules.toml";

pub(super) const GUARD_TEST: &str = "\
Examples:
  countersign guard test shell '{\"command\":\"rm -rf x\"}'
  countersign guard test write_file '{\"path\":\"a.md\"}' --person 123456789 --tainted";

pub(super) const GUARD_LIST: &str = "\
Examples:
  countersign guard list";

pub(super) const GUARD_IMPORT: &str = "\
Examples:
  countersign guard import rules.toml
  countersign guard import rules.yaml --replace";

pub(super) const GUARD_EXPORT: &str = "\
Examples:
  countersign guard export > rules.toml";

pub(super) const GUARD_REMOVE: &str = "\
Examples:
  countersign guard remove 'look around'";

pub(super) const RENDER: &str = "\
Examples:
  countersign render report.md --to pdf
  countersign render sales.csv -o sales.xlsx";

pub(super) const AUDIT: &str = "\
Examples:
  countersign audit show --tool shell
  countersign audit verify";

pub(super) const AUDIT_SHOW: &str = "\
Examples:
  countersign audit show --tool shell --since 2026-05-04T10:00:00Z
  countersign audit show --person 123456789 --kind decided --json";

pub(super) const AUDIT_VERIFY: &str = "\
Examples:
  countersign audit verify
  countersign audit verify --seal 3f7a9c0d";

pub(super) const MCP: &str = "\
Examples:
  countersign mcp list
  countersign mcp trust files read_file";

pub(super) const MCP_LIST: &str = "\
Examples:
  countersign mcp list
  countersign mcp list files --json";

pub(super) const MCP_TRUST: &str = "\
Examples:
  countersign mcp trust files
  countersign mcp trust files read_file \\
    --digest 4d6f2c1b9e8a7f60514233241506f7e8d9cabbac9d8e7f605142332415061728";

pub(super) const MCP_LOGIN: &str = "\
Examples:
  countersign mcp login crm
  countersign mcp login crm --paste";

pub(super) const WASM: &str = "\
Examples:
  countersign wasm list
  countersign wasm trust weather";

pub(super) const WASM_LIST: &str = "\
Examples:
  countersign wasm list
  countersign wasm list --json";

pub(super) const WASM_TRUST: &str = "\
Examples:
  countersign wasm trust weather
  countersign wasm trust weather \\
    --digest 4d6f2c1b9e8a7f60514233241506f7e8d9cabbac9d8e7f605142332415061728";

pub(super) const SKILL: &str = "\
Examples:
  countersign skill list
  countersign skill install ./letters";

pub(super) const SKILL_INSTALL: &str = "\
Examples:
  countersign skill install ./letters
  countersign skill install https://github.com/example/skills
  countersign skill install ./letters --accept read-keys";

pub(super) const SKILL_LIST: &str = "\
Examples:
  countersign skill list
  countersign skill list --agent default --json";

pub(super) const SKILL_SCAN: &str = "\
Examples:
  countersign skill scan ./letters";

pub(super) const SKILL_TRUST: &str = "\
Examples:
  countersign skill trust letters";

pub(super) const SKILL_REMOVE: &str = "\
Examples:
  countersign skill remove letters";

pub(super) const TOKEN: &str = "\
Examples:
  countersign token --name ann
  countersign token --api ci --role viewer --days 90";

pub(super) const TOKEN_LIST: &str = "\
Examples:
  countersign token list
  countersign token list --json";

pub(super) const TOKEN_REVOKE: &str = "\
Examples:
  countersign token revoke ci
  countersign token revoke --sessions-of ann";

pub(super) const LOGS: &str = "\
Examples:
  countersign logs --follow
  countersign logs --reference 01J9ZC6Q3M-17
  countersign logs --file /var/log/countersign.log --lines 50
  docker compose logs countersign | countersign logs --file -";

pub(super) const PEOPLE: &str = "\
Examples:
  countersign people
  countersign people --channel telegram --json";

pub(super) const WIKI: &str = "\
Examples:
  countersign wiki export ./wiki";

pub(super) const WIKI_EXPORT: &str = "\
Examples:
  countersign wiki export ./wiki
  countersign wiki export ./research --agent researcher";

pub(super) const EXTRACT: &str = "\
Examples:
  countersign extract report.pdf > report.md
  countersign extract --password-env REPORT_PASSWORD report.xlsx";

pub(super) const COMPLETIONS: &str = "\
Examples:
  countersign completions bash > /etc/bash_completion.d/countersign
  countersign completions fish > ~/.config/fish/completions/countersign.fish";

pub(super) const MAN: &str = "\
Examples:
  countersign man /usr/local/share/man/man1";

pub(super) const PAIR: &str = "\
Examples:
  countersign pair
  countersign pair --channel telegram --role member --hours 2";
