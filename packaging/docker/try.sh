#!/usr/bin/env bash
# Builds the image and runs both compose files with a real Docker, Compose and Prometheus; only Grafana is not run. Needs
# root, dockerd, Compose 2 (the plugin, or a path in TRY_COMPOSE), Debian's prometheus, node, npm and, where no registry
# is reachable, debootstrap. Starts a separate Docker daemon in a temporary folder, leaves the machine's own Docker alone
# and removes everything at the end. Takes about ten minutes and 5 GB.
#   packaging/docker/try.sh
#   TRY_DIR=DIR packaging/docker/try.sh     keeps images there, which makes the next run faster
#   TRY_STORAGE=vfs packaging/docker/try.sh where overlay2 does not work, such as inside a container
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
base=node:24-bookworm-slim
prometheus=$(sed -n 's/^ *image: \(prom\/prometheus:.*\)/\1/p' "$here/compose.yaml")

say() { printf '\n== %s\n' "$*"; }
die() { printf 'error: %s\n' "$*" >&2; exit 1; }
[ "$(id -u)" = 0 ] || die "this needs root, for a Docker of its own. Next: sudo $0"
for tool in dockerd docker prometheus promtool node npm; do
  command -v "$tool" > /dev/null || die "$tool is missing. Next: apt-get install docker.io prometheus nodejs npm"
done

if [ -n "${TRY_DIR:-}" ]; then work=$TRY_DIR; mkdir -p "$work"; else work=$(mktemp -d); fi
export DOCKER_HOST=unix://$work/docker.sock DOCKER_CONFIG=$work/client DOCKER_BUILDKIT=0
dockerd=
projects=()
compose() {
  if [ -n "${TRY_COMPOSE:-}" ]; then "$TRY_COMPOSE" "$@"; else docker compose "$@"; fi
}
if [ -z "${TRY_COMPOSE:-}" ]; then
  mkdir -p "$work/client/cli-plugins"
  for place in /usr/libexec/docker/cli-plugins /usr/lib/docker/cli-plugins /usr/local/lib/docker/cli-plugins "$HOME/.docker/cli-plugins"; do
    [ ! -x "$place/docker-compose" ] || ln -sf "$place/docker-compose" "$work/client/cli-plugins/docker-compose"
  done
fi
compose version > /dev/null 2>&1 || die 'Compose 2 is missing. Next: install the docker-compose package of Debian 13, or set TRY_COMPOSE to its program'

finish() {
  local code=$? project
  trap - EXIT
  for project in "${projects[@]}"; do
    [ "$code" = 0 ] || compose --project-directory "$project" -f "$project/$(cat "$project/file")" logs --tail 30 2>&1 || true
    compose --project-directory "$project" -f "$project/$(cat "$project/file")" --profile '*' down --volumes --timeout 5 > /dev/null 2>&1 || true
  done
  if [ -n "$dockerd" ]; then
    kill "$dockerd" 2> /dev/null || true
    wait "$dockerd" 2> /dev/null || true
    umount "$work"/run/netns/default 2> /dev/null || true
  fi
  rm -rf "$work/trial" "$work/run"
  [ -n "${TRY_DIR:-}" ] || rm -rf "$work"
  exit "$code"
}
trap finish EXIT

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
  for _ in $(seq 120); do if "$@" > /dev/null 2>&1; then return 0; fi; sleep 0.5; done
  printf 'did not come true within a minute: %s\n' "$*"
  "$@"
}

say 'the configuration of Prometheus'
check 'promtool check config' promtool check config --syntax-only "$here/../prometheus/prometheus.yml"
check 'promtool check rules' promtool check rules --lint-fatal "$here/../prometheus/alerts.yml"
check 'promtool test rules' promtool test rules "$root/test/packaging/alerts.test.yml"

say 'a Docker of its own'
dockerd --storage-driver "${TRY_STORAGE:-overlay2}" --bridge none --iptables=false --data-root "$work/images" \
  --exec-root "$work/run" --pidfile "$work/docker.pid" --host "$DOCKER_HOST" > "$work/dockerd.log" 2>&1 &
dockerd=$!
check 'dockerd answers' until_true docker info
docker version --format 'Docker {{.Server.Version}}'
compose version

say "the base image $base"
if ! docker image inspect "$base" > /dev/null 2>&1 && ! timeout 120 docker pull --quiet "$base" 2> /dev/null; then
  echo 'no registry can be reached: it is made from debootstrap and the npm packages of Node, and tagged alike'
  command -v debootstrap > /dev/null || die 'debootstrap is missing. Next: apt-get install debootstrap'
  architecture=$(node -p process.arch)
  debootstrap --variant=minbase bookworm "$work/base" http://deb.debian.org/debian > "$work/debootstrap.log" 2>&1
  npm install --silent --no-save --ignore-scripts --prefix "$work/node" "node-linux-$architecture@24" npm@11
  install -D -m 755 "$work/node/node_modules/node-linux-$architecture/bin/node" "$work/base/usr/local/bin/node"
  mkdir -p "$work/base/usr/local/lib/node_modules" "$work/base/usr/local/etc" "$work/base/etc/ssl/certs"
  cp -R "$work/node/node_modules/npm" "$work/base/usr/local/lib/node_modules/"
  ln -sf ../lib/node_modules/npm/bin/npm-cli.js "$work/base/usr/local/bin/npm"
  # A network with its own certificate authority needs that certificate in the build as well.
  cp /etc/ssl/certs/ca-certificates.crt "$work/base/etc/ssl/certs/"
  echo 'cafile=/etc/ssl/certs/ca-certificates.crt' > "$work/base/usr/local/etc/npmrc"
  rm -rf "$work/base"/var/cache/apt/archives/*.deb
  tar -C "$work/base" --exclude=./proc --exclude=./sys --exclude=./dev -c . | docker import - "$base" > /dev/null
  rm -rf "$work/base" "$work/node"
fi
if ! docker image inspect "$prometheus" > /dev/null 2>&1 && ! timeout 120 docker pull --quiet "$prometheus" 2> /dev/null; then
  echo "Debian's Prometheus stands in for $prometheus"
  mkdir -p "$work/prometheus"
  cp "$(command -v prometheus)" "$(command -v promtool)" "$work/prometheus/"
  cat > "$work/prometheus/Dockerfile" << EOF
FROM $base
COPY prometheus promtool /bin/
RUN mkdir /prometheus && chown 65534:65534 /prometheus
USER 65534:65534
VOLUME /prometheus
ENTRYPOINT ["/bin/prometheus"]
CMD ["--config.file=/etc/prometheus/prometheus.yml", "--storage.tsdb.path=/prometheus"]
EOF
  docker build --quiet --tag "$prometheus" "$work/prometheus" > /dev/null 2>&1
fi

say 'the image'
check 'docker build' docker build --network host --file "$here/Dockerfile" --tag rosterd "$root"
docker image ls rosterd --format 'size {{.Size}}, of which the base has '"$(docker image ls "$base" --format '{{.Size}}')"
in_image() { docker run --rm --network none --read-only --cap-drop ALL --security-opt no-new-privileges --user 65532:65532 --entrypoint "$1" rosterd "${@:2}"; }
check 'it needs no compiler, and has none' eval '! in_image sh -c "command -v gcc cc make python3"'
check 'rosterd runs read-only, without capabilities' in_image rosterd version
check 'a demonstration of its own runs with nothing but /data and /tmp' docker run --rm --network none --read-only --tmpfs /tmp \
  --cap-drop ALL --security-opt no-new-privileges --user 65532:65532 --entrypoint sh rosterd -c \
  'rosterd sandbox --listen 127.0.0.1:4010 --companies 1 --records 50 > /tmp/s & while [ ! -s /tmp/s ]; do sleep 0.2; done; TOKEN=$(node -p "JSON.parse(fs.readFileSync(\"/tmp/s\")).companies[0].token") ROSTERD_CONFIG= ROSTERD_PLATFORM__BASE_URL=http://127.0.0.1:4010 ROSTERD_DATABASE=sqlite:/data/mirror.db ROSTERD_SOURCES="[{\"name\":\"acme\",\"token\":{\"env\":\"TOKEN\"}}]" rosterd sync'

# Copies the folder and replaces published ports by free ones.
trial() { # name, compose file
  mkdir -p "$work/trial/$1"
  cp -R "$here/.." "$work/trial/$1/packaging"
  sed -i 's/"127\.0\.0\.1:[0-9]*:/"127.0.0.1::/' "$work/trial/$1/packaging/docker/$2"
  echo "$2" > "$work/trial/$1/packaging/docker/file"
  project=$work/trial/$1/packaging/docker
  projects+=("$project")
}
up() { compose --progress quiet -f "$project/$(cat "$project/file")" --project-directory "$project" "$@"; }
in_rosterd() { up exec -T rosterd "$@"; }
status() { in_rosterd rosterd query --csv "$1" | tail -1 | tr -d '\r'; }
container() { docker inspect --format "$1" "$(up ps --all --quiet rosterd)"; }
scraped() { in_rosterd node -e "
  fetch('http://prometheus:9090/api/v1/query?query=' + encodeURIComponent(process.argv[1])).then((answer) => answer.json()).then(({ data }) => {
    if (!data.result.some(({ value }) => Number(value[1]) > 0)) throw new Error(JSON.stringify(data));
  });" "$1"; }
logged() { up logs --no-log-prefix rosterd | grep -F -- "$1"; }

say 'compose.yaml: sandbox, rosterd and Prometheus'
trial demo compose.yaml
check 'docker compose config' up config --quiet
check 'docker compose up, which waits for health' up up --detach --no-build sandbox activity rosterd prometheus
check 'rosterd is ready: every source can be read' until_true in_rosterd node -e "fetch('http://127.0.0.1:8788/readyz').then(({ ok }) => process.exit(ok ? 0 : 1))"
rows=$(status 'SELECT count(*) FROM investments')
check "rows are mirrored: $rows" test "$rows" -gt 100
check 'webhooks arrive, and bring changes' until_true eval '[ "$(status "SELECT count(*) FROM webhook_inbox WHERE state = '"'worked'"'")" -gt 0 ]'
check 'Prometheus scrapes it with the token' until_true scraped 'up{job="rosterd"}'
check 'and has its rows' scraped rosterd_records_visible
check 'and its rules' until_true in_rosterd node -e "fetch('http://prometheus:9090/api/v1/rules').then((answer) => answer.json()).then(({ data }) => process.exit(data.groups[0].rules.length >= 10 ? 0 : 1))"
check 'the health check of the image finds it alive' until_true eval '[ "$(container "{{.State.Health.Status}}")" = healthy ]'
check 'it runs as its user, read-only, without capabilities' equals \
  "$(container '{{.Config.User}} {{.HostConfig.ReadonlyRootfs}} {{.HostConfig.CapDrop}} {{.HostConfig.SecurityOpt}}')" \
  '65532:65532 true [ALL] [no-new-privileges:true]'
check 'the program cannot be written to' eval '! in_rosterd node -e "fs.writeFileSync(\"/app/dist/x\", \"\")"'
check 'the mirror is closed to others' equals "$(in_rosterd stat -c '%u %a' /data/mirror.db)" '65532 600'
check 'SIGTERM' up stop rosterd
check 'it ended with 0' equals "$(container '{{.State.ExitCode}}')" 0
check 'it starts again' up start rosterd
check 'and its status is good' until_true in_rosterd rosterd status --check
up kill --signal KILL rosterd > /dev/null 2>&1
check 'killed, it starts again' up start rosterd
check 'and its status is good: what the killed one left is not taken for a daemon' until_true in_rosterd rosterd status --check
up down > /dev/null 2>&1
check 'it starts again from its volumes' up up --detach --no-build sandbox activity rosterd
check 'with its rows' test "$(status 'SELECT count(*) FROM investments')" -gt 100
check 'and goes on where it was, with no second first listing' equals "$(status "SELECT count(*) FROM ticks WHERE mode = 'listing' AND outcome = 'done'")" 1
up down --volumes > /dev/null 2>&1

say 'compose.production.yaml: secrets, reload'
trial production compose.production.yaml
check 'docker compose config' up --profile monitoring config --quiet
# The same seed creates the same data, so the token is known before the stack starts.
world=(sandbox --listen 127.0.0.1:4010 --companies 1 --records 200 --seed 7)
docker run --detach --name world --network none rosterd "${world[@]}" > /dev/null
until_true eval 'docker logs world | grep -q ready'
ready=$(docker logs world)
docker rm --force world > /dev/null
of_world() { node -p "JSON.parse(process.argv[1]).companies[0].$1" "$ready"; }
sed -i -e 's#https://api.example.com#http://127.0.0.1:4010#' -e "s/co_EXAMPLE/$(of_world id)/" -e "s/inst_EXAMPLE/$(of_world installation)/" "$project/config/config.json"
cat > "$project/compose.override.yaml" << EOF
services:
  sandbox:
    image: rosterd
    command: [$(printf '"%s", ' "${world[@]}")]
    network_mode: service:rosterd
EOF
up() { compose --progress quiet -f "$project/compose.production.yaml" -f "$project/compose.override.yaml" --project-directory "$project" "$@"; }
mkdir -m 700 "$project/secrets"
secret() { install -m 400 -o "$1" /dev/stdin "$project/secrets/$2"; }
of_world token | secret 65532 acme-token
node -p 'crypto.randomBytes(24).toString("hex")' | secret 65532 hook-secret
node -p 'crypto.randomBytes(24).toString("hex")' | secret 65532 console-token
secret 65534 prometheus-console-token < "$project/secrets/console-token"
node -p 'crypto.randomBytes(24).toString("hex")' | secret 472 grafana-password

chmod 444 "$project/secrets/console-token"
up up --detach --no-build rosterd > /dev/null 2>&1 || true
check 'a secret that every user may read is refused, by name' until_true logged 'others on this machine can read /run/secrets/console_token'
check 'with code 2' until_true eval '[ "$(container "{{.State.ExitCode}}")" = 2 ]'
up down > /dev/null 2>&1
chmod 400 "$project/secrets/console-token"
check 'with a file for each reader it starts' up up --detach --no-build rosterd sandbox prometheus
check 'and mirrors' until_true eval '[ "$(status "SELECT count(*) FROM investments")" -gt 100 ]'
check 'Prometheus scrapes it with a token file of its own' until_true scraped 'up{job="rosterd"}'
check 'and promtool finds the whole configuration sound there' up exec -T prometheus promtool check config /etc/prometheus/prometheus.yml
check 'neither reads what belongs to the other' eval '! up exec -T prometheus cat /run/secrets/acme_token'
sed -i 's#"console": {#"sync": { "intervalSeconds": 45 },\n  "console": {#' "$project/config/config.json"
up kill --signal HUP rosterd > /dev/null 2>&1
check 'SIGHUP applies a changed configuration' until_true logged 'the configuration was reloaded'
# Compose mounts the file itself, so a new secret must overwrite it in place.
node -p 'crypto.randomBytes(24).toString("hex")' > "$project/secrets/console-token"
up kill --signal HUP rosterd > /dev/null 2>&1
check 'SIGHUP reads a changed secret' until_true logged 'secrets in files and commands were read again'
asked() { in_rosterd node -e "fetch('http://127.0.0.1:8788/metrics', { headers: { authorization: 'Bearer ' + process.argv[1] } }).then(({ status }) => process.exit(status === 200 ? 0 : 1))" "$1"; }
check 'the new token is admitted' asked "$(cat "$project/secrets/console-token")"
check 'the old one is not' eval '! asked "$(cat "$project/secrets/prometheus-console-token")"'
check 'SIGTERM' up stop rosterd
check 'it ended with 0' equals "$(container '{{.State.ExitCode}}')" 0

say "all $passed checks hold; Grafana was not run (test/packaging/monitoring.test.ts holds its files against the metrics)"
