import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { exitCodes } from '../../src/cli/exit-codes.js';
import { packageRoot } from '../../src/runtime/package-root.js';
import { load, minimal } from '../config/load-config.js';
import { type RunningConsole, startConsole } from '../console/running-console.js';

const read = (...path: string[]) => readFileSync(join(packageRoot, 'packaging', ...path), 'utf8');

describe('monitoring files', () => {
  let world: RunningConsole;
  const published = new Set<string>();
  beforeAll(async () => {
    world = await startConsole({ rows: 1 });
    const text = await (await fetch(`${world.url}/metrics`)).text();
    for (const [, name = '', kind] of text.matchAll(/^# TYPE (\w+) (\w+)$/gm)) {
      published.add(name);
      if (kind === 'histogram')
        for (const part of ['bucket', 'sum', 'count']) published.add(`${name}_${part}`);
    }
  });
  afterAll(() => world.close());

  test.each(['prometheus/alerts.yml', 'grafana/rosterd.json'])('%s uses only published metrics', (file) => {
    const named = new Set(read(...file.split('/')).match(/\b(?:rosterd|process)_[a-z_]+/g));
    expect(named.size).toBeGreaterThan(8);
    expect([...named].filter((name) => !published.has(name))).toEqual([]);
  });

  test('every metric has a description, base units, and the suffix of counters', async () => {
    const text = await (await fetch(`${world.url}/metrics`)).text();
    for (const [, name = '', kind] of text.matchAll(/^# TYPE (\w+) (\w+)$/gm)) {
      expect(text).toMatch(new RegExp(`^# HELP ${name} .{10}`, 'm'));
      expect(name.endsWith('_total'), name).toBe(kind === 'counter');
      expect(name).not.toMatch(/_(?:ms|millis|minutes|hours|days|kb|mb|percent)$/);
    }
  });
});

test('Grafana can load the dashboard: panels do not overlap, and each has a query and a variable for its source', () => {
  const board = JSON.parse(read('grafana', 'rosterd.json')) as {
    panels: {
      id: number;
      gridPos: { x: number; y: number; w: number; h: number };
      targets: { expr: string }[];
    }[];
    templating: { list: { name: string }[] };
  };
  expect(new Set(board.panels.map(({ id }) => id)).size).toBe(board.panels.length);
  const cells = board.panels.flatMap(({ gridPos: { x, y, w, h } }) =>
    Array.from({ length: w * h }, (_, at) => `${x + (at % w)},${y + Math.floor(at / w)}`),
  );
  expect(new Set(cells).size).toBe(cells.length);
  const variables = board.templating.list.map(({ name }) => name);
  for (const { targets } of board.panels)
    for (const { expr } of targets)
      for (const [, name] of expr.matchAll(/\$(\w+)/g)) expect(variables).toContain(name);
});

test('every alert has a summary and a next step', () => {
  const alerts = read('prometheus', 'alerts.yml')
    .split(/^ {6}- alert: /m)
    .slice(1);
  expect(alerts.length).toBeGreaterThan(8);
  for (const alert of alerts)
    for (const key of ['expr', 'for', 'labels', 'summary', 'action'])
      expect(alert, key).toMatch(new RegExp(`^ {8,10}${key}: \\S`, 'm'));
});

test('the systemd unit does not restart on errors only a person can fix, and grants no unneeded privilege', () => {
  const unit = read('systemd', 'rosterd.service');
  const value = (key: string) => new RegExp(`^${key}=(.*)$`, 'm').exec(unit)?.[1];
  // What passes by itself, such as a database that is away, is tried for as long as it takes.
  expect([value('Restart'), value('StartLimitIntervalSec')]).toEqual(['on-failure', '0']);
  expect(value('RestartPreventExitStatus')).toBe(`${exitCodes.usage} ${exitCodes.reauthorize}`);
  expect(value('ExecStart')).toBe('/usr/bin/rosterd run --config /etc/rosterd/config.json');
  // The process that signals readiness is not the main one.
  expect([value('Type'), value('NotifyAccess')]).toEqual(['notify', 'all']);
  expect(value('ExecReload')).toBe('/bin/kill -HUP $MAINPID');
  expect(value('WatchdogSec')).toBe('3min');
  expect(read('systemd', 'rosterd.sysusers.conf')).toMatch(new RegExp(`^u ${value('User')} `, 'm'));
  for (const line of unit.split('\n')) expect(line).toMatch(/^(?:|#.*|\[\w+\]|[A-Z][A-Za-z]+=.*)$/);
  for (const key of ['NoNewPrivileges', 'PrivateTmp', 'ProtectHome', 'RestrictNamespaces'])
    expect(value(key)).toBe('yes');
  expect([value('ProtectSystem'), value('CapabilityBoundingSet'), value('UMask')]).toEqual([
    'strict',
    '',
    '0077',
  ]);
});

test('every packaging gives the erasure ledger its own writable place, apart from the mirror', () => {
  const unit = read('systemd', 'rosterd.service');
  const file = read('docker', 'Dockerfile');
  expect(/^StateDirectory=(.*)$/m.exec(unit)?.[1]?.split(' ')).toEqual(['rosterd', 'rosterd-ledger']);
  expect(/^VOLUME (.*)$/m.exec(file)?.[1]?.split(' ')).toEqual(['/data', '/ledger', '/credentials']);
  // Commands that are typed by hand do not have the environment of the unit.
  const page = readFileSync(join(packageRoot, 'docs/deploying.md'), 'utf8');
  expect(page).toContain('"forget": { "ledger": "/var/lib/rosterd-ledger/forgotten.jsonl" }');
  for (const [text, ledger] of [
    [unit, '/var/lib/rosterd-ledger/forgotten.jsonl'],
    [file, '/ledger/forgotten.jsonl'],
  ] as const) {
    const [variable = '', value = ''] = /ROSTERD_FORGET__LEDGER=(\S+)/.exec(text) ?? [];
    expect(value).toBe(ledger);
    const env = Object.fromEntries([variable.split('=')]);
    expect(load(minimal, { env }).config.forget.ledger).toBe(ledger);
  }
});

test('the image runs as a non-root user on a supported Node and is built from only what it needs', () => {
  const file = read('docker', 'Dockerfile');
  const { files, engines } = JSON.parse(readFileSync(join(packageRoot, 'package.json'), 'utf8')) as {
    files: string[];
    engines: { node: string };
  };
  expect(files).toEqual(expect.arrayContaining(['packaging', '!packaging/docker/secrets']));
  expect(engines.node).toBe('>=22.19');
  expect(file).toMatch(/^USER 65532:65532$/m);
  const bases = [...file.matchAll(/^FROM (\S+)/gm)].map(([, base]) => base);
  expect(new Set(bases)).toEqual(new Set(['node:24-bookworm-slim']));
  expect(file).toContain('npm ci --omit=dev --ignore-scripts');
  expect(file).toContain('/livez');
  // The build context is an allow list: configuration, secrets and mirrors in the folder stay out.
  const context = readFileSync(join(packageRoot, '.dockerignore'), 'utf8')
    .split('\n')
    .filter((line) => /^[^#]/.test(line));
  expect(context[0]).toBe('*');
  expect(context.slice(1).every((line) => line.startsWith('!'))).toBe(true);
  for (const needed of ['.ci', 'package.json', 'package-lock.json', 'schema', 'src'])
    expect(context).toContain(`!${needed}`);
});
