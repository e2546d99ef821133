#!/usr/bin/env bash
# Runs rosterd.service under a real systemd, as pid 1 of a systemd-nspawn container, and checks start,
# watchdog, reload, stop, restart and sandboxing. Needs root, systemd-nspawn, debootstrap, node, npm and a Debian mirror;
# the container's network has only loopback. Takes a few minutes and 1.5 GB.
#   packaging/systemd/try.sh                 builds everything in a temporary folder and removes it
#   TRY_DIR=DIR packaging/systemd/try.sh   keeps the folder for the next run
#   TRY_SUITE=trixie packaging/systemd/try.sh   another Debian (default: bookworm)
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
suite=${TRY_SUITE:-bookworm}
mirror=${TRY_MIRROR:-http://deb.debian.org/debian}

say() { printf '\n== %s\n' "$*"; }
die() { printf 'error: %s\n' "$*" >&2; exit 1; }
[ "$(id -u)" = 0 ] || die "this needs root, for systemd-nspawn. Next: sudo $0"
for tool in systemd-nspawn debootstrap nsenter node npm; do
  command -v "$tool" > /dev/null || die "$tool is missing. Next: apt-get install systemd-container debootstrap util-linux nodejs npm"
done

if [ -n "${TRY_DIR:-}" ]; then work=$TRY_DIR; mkdir -p "$work"; else work=$(mktemp -d); fi
machine=$work/$suite
log=$work/console.log
nspawn=
leader=

finish() {
  local code=$?
  trap - EXIT
  if [ "$code" != 0 ] && [ -n "$leader" ]; then
    inside journalctl --no-pager --unit rosterd --lines 60 || true
  fi
  if [ -n "$nspawn" ]; then
    # Asks systemd in a container to power off.
    [ -z "$leader" ] || kill -s RTMIN+4 "$leader" 2> /dev/null || true
    for _ in $(seq 100); do kill -0 "$nspawn" 2> /dev/null || break; sleep 0.2; done
    kill -9 "$nspawn" 2> /dev/null || true
    wait "$nspawn" 2> /dev/null || true
  fi
  [ -n "${TRY_DIR:-}" ] || rm -rf "$work"
  exit "$code"
}
trap finish EXIT

inside() { nsenter --target "$leader" --mount --uts --ipc --net --pid -- "$@"; }
property() { inside systemctl show --property "$1" --value "${2:-rosterd}"; }
passed=0
check() { # what, then a command that succeeds when it is true
  local what=$1
  shift
  "$@" > "$work/check.out" 2>&1 || { cat "$work/check.out" >&2; die "not so: $what"; }
  passed=$((passed + 1))
  printf 'ok   %s\n' "$what"
}
equals() { [ "$1" = "$2" ] || { printf 'is %s, expected %s\n' "$1" "$2"; return 1; }; }
# Waits for a condition, with a timeout.
until_true() {
  for _ in $(seq 300); do if "$@" > /dev/null 2>&1; then return 0; fi; sleep 0.2; done
  printf 'did not come true within 60 s: %s\n' "$*"
  return 1
}
journal_has() { inside journalctl --no-pager --output cat --unit rosterd | grep -F -- "$1"; }
http_code() { inside curl -s -o /dev/null -w '%{http_code}' -H "Authorization: Bearer $2" "http://127.0.0.1:8788$1"; }
code_is() { equals "$(http_code "$1" "$2")" "$3"; }
state_is() { equals "$(property ActiveState)" "$1"; }
differs() { [ "$1" != "$2" ]; }
status_is() { equals "$(property StatusText)" "$1"; }

say "a machine of $suite"
if [ ! -e "$machine/usr/lib/systemd/systemd" ]; then
  debootstrap --variant=minbase --include=systemd,systemd-sysv,dbus,curl,util-linux,procps "$suite" "$machine" "$mirror" > "$work/debootstrap.log" 2>&1 \
    || { tail -20 "$work/debootstrap.log" >&2; die "debootstrap failed"; }
fi

say 'Node and the package, as npm installs them'
architecture=$(node -p process.arch)
if [ ! -x "$machine/usr/bin/node" ]; then
  npm install --silent --no-save --ignore-scripts --prefix "$work/node" "node-linux-$architecture@24"
  install -m 755 "$work/node/node_modules/node-linux-$architecture/bin/node" "$machine/usr/bin/node"
fi
(cd "$root" && npm run --silent build)
tarball=$(cd "$root" && npm pack --silent --ignore-scripts --pack-destination "$work" | tail -1)
rm -rf "$machine/usr/lib/node_modules/rosterd" "$machine/usr/bin/rosterd"
npm install --silent --global --ignore-scripts --prefix "$machine/usr" "$work/$tarball"

say 'unit, user, configuration and secrets, as docs/deploying.md installs them'
rm -rf "$machine"/etc/rosterd "$machine"/var/lib/rosterd* "$machine"/etc/systemd/system/rosterd* "$machine/var/log/journal"
cp "$here/rosterd.service" "$machine/etc/systemd/system/"
install -D -m 644 "$here/rosterd.sysusers.conf" "$machine/etc/sysusers.d/rosterd.conf"
chroot "$machine" systemd-sysusers
install -d -m 750 -g "$(chroot "$machine" id -g rosterd)" "$machine/etc/rosterd" "$machine/etc/rosterd/secrets"
secret() { # name, value: root owns it, the group rosterd may read it
  printf '%s\n' "$2" > "$machine/etc/rosterd/secrets/$1.new"
  chmod 640 "$machine/etc/rosterd/secrets/$1.new"
  chgrp "$(chroot "$machine" id -g rosterd)" "$machine/etc/rosterd/secrets/$1.new"
  mv "$machine/etc/rosterd/secrets/$1.new" "$machine/etc/rosterd/secrets/$1"
}
configure() { # seconds between ticks, console port
  cat > "$machine/etc/rosterd/config.json" << EOF
{
  "platform": { "baseUrl": "http://127.0.0.1:4010" },
  "database": "sqlite:/var/lib/rosterd/mirror.db",
  "sources": [{ "name": "acme", "token": { "file": "secrets/acme-token" } }],
  "sync": { "intervalSeconds": $1 },
  "console": { "listen": "127.0.0.1:$2", "auth": { "token": { "file": "secrets/console-token" } } }
}
EOF
}
configure 60 8788
secret console-token the-first-console-token

# Runs another program under the same unit to check from the inside what the sandbox refuses.
sed -e 's#^Type=.*#Type=oneshot#' -e 's#^ExecStart=.*#ExecStart=/usr/bin/node /usr/share/rosterd-probe.mjs#' \
  -e '/^\(ExecReload\|WatchdogSec\|Restart\|RestartSec\|RestartPreventExitStatus\|NotifyAccess\)=/d' \
  "$here/rosterd.service" > "$machine/etc/systemd/system/rosterd-probe.service"
cat > "$machine/usr/share/rosterd-probe.mjs" << 'EOF'
import { execFileSync } from 'node:child_process';
import { readFileSync, readdirSync, writeFileSync } from 'node:fs';
const found = [];
const refused = (what, work) => {
  try { work(); found.push(what); } catch {}
};
for (const folder of ['/etc', '/etc/rosterd', '/etc/rosterd/secrets', '/usr', '/usr/bin', '/var', '/var/lib', '/home', '/root', '/boot', '/opt', '/srv'])
  refused(`wrote into ${folder}`, () => writeFileSync(`${folder}/rosterd-was-here`, ''));
refused('wrote a kernel setting', () => writeFileSync('/proc/sys/kernel/core_pattern', 'core'));
refused('wrote into the control groups', () => writeFileSync('/sys/fs/cgroup/rosterd', ''));
refused('read the password hashes', () => readFileSync('/etc/shadow'));
refused('saw another process', () => { if (!readdirSync('/proc').includes('1')) throw new Error('hidden'); });
refused('made a user namespace', () => execFileSync('/usr/bin/unshare', ['--user', 'true'], { stdio: 'ignore' }));
refused('mounted a file system', () => execFileSync('/usr/bin/mount', ['-t', 'tmpfs', 'none', '/tmp'], { stdio: 'ignore' }));
refused('set the host name', () => execFileSync('/usr/bin/hostname', ['other'], { stdio: 'ignore' }));
refused('set the clock', () => execFileSync('/usr/bin/date', ['--set', '2001-01-01'], { stdio: 'ignore' }));
const status = readFileSync('/proc/self/status', 'utf8');
const field = (name) => new RegExp(`^${name}:\\s*(.*)$`, 'm').exec(status)?.[1];
if (field('NoNewPrivs') !== '1') found.push('may gain privileges');
if (field('Seccomp') !== '2') found.push('has no filter of system calls');
if (!/^0+$/.test(field('CapEff') ?? '') || !/^0+$/.test(field('CapBnd') ?? '')) found.push(`has capabilities ${field('CapBnd')}`);
// What rosterd needs must work.
writeFileSync('/var/lib/rosterd/probe', 'x', { mode: 0o644 });
writeFileSync('/var/lib/rosterd-ledger/probe', 'x');
writeFileSync('/tmp/rosterd-probe', 'x');
readFileSync('/etc/rosterd/secrets/acme-token');
console.log(JSON.stringify({ found }));
process.exitCode = found.length === 0 ? 0 : 1;
EOF

say 'systemd as the first process'
systemd-nspawn --quiet --directory "$machine" --boot --private-network --register=no --keep-unit --console=pipe \
  --machine "rosterd-try-$$" < /dev/null > "$log" 2>&1 &
nspawn=$!
for _ in $(seq 100); do leader=$(pgrep --parent "$nspawn" --full systemd || true); [ -n "$leader" ] && break; sleep 0.2; done
[ -n "$leader" ] || { cat "$log" >&2; die 'systemd-nspawn started no systemd'; }
until_true inside systemctl is-system-running --quiet || until_true inside test -S /run/systemd/private || { cat "$log" >&2; die 'systemd did not come up'; }
inside systemctl --version | head -1
inside ip link set lo up 2> /dev/null || true

inside systemd-run --quiet --unit sandbox --property StandardOutput=file:/run/sandbox.json --property User=nobody \
  /usr/bin/rosterd sandbox --listen 127.0.0.1:4010 --companies 1 --records 300 --seed 7
check 'the sandbox serves' until_true inside curl -sf -o /dev/null http://127.0.0.1:4010/_sandbox
secret acme-token "$(inside cat /run/sandbox.json | node -p 'JSON.parse(require("fs").readFileSync(0, "utf8")).companies[0].token')"

say 'start'
check 'systemd-analyze finds no mistake in the unit' equals "$(inside systemd-analyze verify /etc/systemd/system/rosterd.service 2>&1)" ''
check 'systemctl start waits for READY=1 and returns 0' inside systemctl start rosterd
check 'the unit is active, and its status is the one sent with READY=1' equals "$(property ActiveState)/$(property StatusText)" 'active/following the platform'
main=$(property MainPID)
check 'the main process is rosterd, as the user rosterd' equals "$(inside ps -o user= -p "$main")" rosterd
check 'the console admits its token' code_is /metrics the-first-console-token 200
check 'rows are mirrored' until_true journal_has '"outcome":"done"'
rows=$(inside runuser -u rosterd -- rosterd query --config /etc/rosterd/config.json --csv 'SELECT count(*) FROM investments' | tail -1 | tr -d '\r')
check "the user rosterd can query them by hand: $rows rows" test "$rows" -gt 200
check 'the database is closed to others' equals "$(inside stat -c '%U %a' /var/lib/rosterd /var/lib/rosterd/mirror.db | tr '\n' ' ')" 'rosterd 700 rosterd 600 '

say 'reload'
configure 61 8788
check 'systemctl reload is accepted' inside systemctl reload rosterd
check 'a changed setting is applied' until_true journal_has '"the configuration was reloaded"'
check 'READY=1 ended the reload' until_true state_is active
secret console-token the-second-console-token
inside systemctl reload rosterd
check 'a replaced secret is read' until_true journal_has 'secrets in files and commands were read again'
check 'the new console token is admitted' code_is /metrics the-second-console-token 200
check 'the old console token is refused' code_is /metrics the-first-console-token 401
configure 62 9999
inside systemctl reload rosterd
check 'a setting that needs a restart is refused, by name' until_true journal_has '"path":"console.listen"'
printf '{' > "$machine/etc/rosterd/config.json"
inside systemctl reload rosterd
check 'a broken file is refused' until_true journal_has 'the configuration is not valid'
check 'systemctl status says so' until_true status_is 'following the platform; the last reload was refused, the log says why'
check 'the daemon is the same process, and serves' equals "$(property MainPID)/$(http_code /metrics the-second-console-token)" "$main/200"
configure 60 8788

say 'watchdog'
check 'systemd waits three minutes for a sign of life' equals "$(property WatchdogUSec)" 3min
mkdir -p "$machine/etc/systemd/system/rosterd.service.d"
printf '[Service]\nWatchdogSec=6\nRestartSec=1\n' > "$machine/etc/systemd/system/rosterd.service.d/quick.conf"
inside systemctl daemon-reload
inside systemctl restart rosterd
first=$(property WatchdogTimestampMonotonic)
check 'signs of life arrive' until_true eval 'differs "$(property WatchdogTimestampMonotonic)" "$first"'
main=$(property MainPID)
inside kill -STOP "$main"
check 'a daemon that stands still is killed and started again' until_true eval 'differs "$(property MainPID)" "$main" && [ "$(property MainPID)" != 0 ] && state_is active'
check 'the watchdog was the reason' journal_has 'Watchdog timeout'

say 'restart and stop'
main=$(property MainPID)
inside kill -KILL "$main"
check 'a killed daemon is started again' until_true eval 'differs "$(property MainPID)" "$main" && [ "$(property MainPID)" != 0 ] && state_is active'
again=$(inside runuser -u rosterd -- rosterd query --config /etc/rosterd/config.json --csv 'SELECT count(*) FROM investments' | tail -1 | tr -d '\r')
check 'and has its rows' equals "$again" "$rows"
check 'systemctl stop returns 0' inside systemctl stop rosterd
check 'the daemon ended with 0' equals "$(property Result)/$(property ExecMainStatus)" success/0
printf '{' > "$machine/etc/rosterd/config.json"
check 'a start with a broken file fails' eval '! inside systemctl start rosterd'
check 'with code 2, and is not tried again' equals "$(property ExecMainStatus)/$(property NRestarts)/$(property ActiveState)" 2/0/failed
configure 60 8788
inside systemctl reset-failed rosterd

say 'sandboxing'
inside systemctl start rosterd-probe || true
inside journalctl --no-pager --output cat --unit rosterd-probe | grep '"found"' || true
check 'nothing outside its folders can be written or reached' equals "$(property Result rosterd-probe)/$(property ExecMainStatus rosterd-probe)" success/0
check 'files it writes are closed to others (UMask)' equals "$(stat -c %a "$machine/var/lib/rosterd/probe")" 600
inside systemd-analyze security --no-pager rosterd | tail -1
check 'systemd-analyze security: exposure of at most 1.5' inside systemd-analyze security --no-pager --threshold=15 rosterd

say "all $passed checks hold under systemd of $suite"
