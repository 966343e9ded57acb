# What the scripts under tests/ share. Sourced by sh and bash after `set -eu`, in the root of the
# repository.

# Where cargo puts what it builds, as an absolute path, whatever a variable or a configuration says.
target_dir() {
    cargo metadata --format-version 1 --no-deps | sed -n 's/.*"target_directory":"\([^"]*\)".*/\1/p'
}

# need PACKAGE…: installs the Debian packages whose programs or files are not here yet. What counts is
# the program and not the package: Node.js, for example, often comes from elsewhere, and then the
# distribution's package cannot be installed beside it.
need() {
    missing=
    for package; do
        is_here "$package" || missing="$missing $package"
    done
    [ -n "$missing" ] || return 0
    if ! command -v apt-get >/dev/null; then
        echo "Please install these first (their names in Debian):$missing" >&2
        exit 1
    fi
    as_root apt-get update -qq
    # shellcheck disable=SC2086
    as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing >/dev/null
}

as_root() { if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi; }

is_here() {
    case $1 in
        bsdutils) command -v script ;;
        bubblewrap) command -v bwrap ;;
        chromium) command -v chromium ;;
        fonts-crosextra-carlito) has_font 'Carlito-Regular*' ;;
        fonts-liberation) has_font 'LiberationSans-Regular*' ;;
        fonts-noto-cjk) has_font 'NotoSansCJK*' ;;
        fonts-noto-color-emoji) has_font 'NotoColorEmoji*' ;;
        fonts-noto-core) has_font 'NotoSansDevanagari*' ;;
        libreoffice-calc) has_office libsclo.so ;;
        libreoffice-impress) has_office libsdlo.so ;;
        libreoffice-math) has_office libsmlo.so ;;
        libreoffice-writer) has_office libswlo.so ;;
        mariadb-server) command -v mariadbd && command -v mariadb-install-db ;;
        nix-bin) command -v nix-instantiate ;;
        nodejs) command -v node ;;
        poppler-utils) command -v pdftotext ;;
        postgresql) [ -n "$(postgres_programs)" ] ;;
        pgbouncer) PATH=$PATH:/usr/sbin command -v pgbouncer ;;
        # Debian's Python comes without the part that creates virtual environments.
        python3-venv) python3 -c 'import ensurepip, venv' 2>/dev/null ;;
        tesseract-ocr) command -v tesseract ;;
        systemd) command -v systemd-analyze ;;
        *) command -v "$1" ;;
    esac >/dev/null
}

has_font() {
    [ -n "$(find -L /usr/share/fonts /usr/local/share/fonts "$HOME/.fonts" -name "$1" -print -quit 2>/dev/null)" ]
}

has_office() {
    [ -n "$(find -L /usr/lib/libreoffice /usr/lib64/libreoffice /opt -path "*/program/$1" -print -quit 2>/dev/null)" ]
}

# The folder of PostgreSQL's server programs, which Debian keeps out of PATH; nothing if there is none.
postgres_programs() {
    if command -v initdb >/dev/null; then
        dirname "$(command -v initdb)"
    else
        find /usr/lib/postgresql -path '*/bin/initdb' 2>/dev/null | sort -V | tail -n 1 | sed 's,/initdb$,,'
    fi
}

# python_with REQUIREMENTS: the folder of a virtual environment with these packages, absolute. It is
# kept beside what cargo builds, and created again when the list has changed.
python_with() {
    venv=$(target_dir)/venv/${1%.txt}
    if ! cmp -s "$1" "$venv/requirements.installed"; then
        rm -rf "$venv"
        python3 -m venv "$venv" >&2
        "$venv/bin/pip" install --quiet --disable-pip-version-check -r "$1" >&2
        cp "$1" "$venv/requirements.installed"
    fi
    echo "$venv"
}

# A port of the loopback for a program that cannot choose one itself and say which. It is outside the
# range from which Linux takes the ports of outgoing connections, so that nothing takes it meanwhile.
free_port() {
    python3 - <<'PY'
import random, socket
while True:
    port = random.randrange(20_000, 32_000)
    with socket.socket() as candidate:
        if candidate.connect_ex(("127.0.0.1", port)):
            print(port)
            break
PY
}
