#!/usr/bin/env bash
# Checks the files that packages are made from, as far as that works without building any: schemas
# of the workflows and the compose file, syntax of the formula, the flake and the scripts, and the
# systemd units.
set -euo pipefail
cd "$(dirname "$0")/../.."
. tests/common.sh

need nix-bin ruby shellcheck systemd
venv=$(python_with tests/packages/requirements.txt)
"$venv/bin/check-jsonschema" --builtin-schema vendor.github-workflows .github/workflows/*.yml
"$venv/bin/check-jsonschema" --builtin-schema vendor.compose-spec deploy/docker-compose.yml
ruby -c deploy/homebrew/countersign.rb >/dev/null
nix-instantiate --parse flake.nix >/dev/null
shellcheck deploy/deb/postinst deploy/deb/postrm

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
for unit in deploy/countersign.service deploy/deb/service; do
    # The program need not be installed here.
    sed 's,^ExecStart=[^ ]*,ExecStart=/bin/true,' "$unit" >"$scratch/countersign.service"
    systemd-analyze verify "$scratch/countersign.service"
done

# The unit of the package differs from that for an installation by hand in the program's path only.
settings() { sed -e '/^#/d' -e 's,/usr/local/bin/,/usr/bin/,' "$1" | sed '/./,$!d'; }
diff <(settings deploy/countersign.service) <(settings deploy/deb/service)
echo "packages: workflows, compose file, formula, flake, scripts and units are well-formed"
