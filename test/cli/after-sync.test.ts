import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { type FilledMirror, filledMirror } from './filled-mirror.js';

let mirror: FilledMirror;
beforeAll(async () => {
  mirror = await filledMirror(5);
  await mirror.sync();
});
afterAll(() => mirror.close());

beforeEach(() => configure({ name: 'dbt', command: ['dbt', 'build'] }));

/** Writes the configuration with these hooks. */
function configure(...hooks: readonly object[]): void {
  const file = join(mirror.folder, 'config.json');
  const afterSync = hooks.map((hook) => ({ kind: 'command', ...hook }));
  writeFileSync(file, JSON.stringify({ ...JSON.parse(readFileSync(file, 'utf8')), afterSync }));
}

/** Stores what a daemon stored of the hook. */
function store(row: Readonly<Record<string, string | number | null>>): void {
  const values = { hook: 'dbt', done_seq: 1, tried_seq: 1, ...row };
  const names = Object.keys(values);
  mirror.inFile((raw) => {
    raw.exec('DELETE FROM after_sync_rows');
    raw
      .prepare(
        `INSERT INTO after_sync_rows (${names.join(', ')}) VALUES (${names.map(() => '?').join(', ')})`,
      )
      .run(...Object.values(values));
  });
}

async function shown() {
  const { out } = await mirror.run(['status']);
  const doctor = JSON.parse((await mirror.run(['doctor', '--json'])).out) as {
    checks: readonly { name: string; verdict: string; found: string }[];
  };
  const check = doctor.checks.find(({ name }) => name === 'after_sync.dbt');
  return { status: out.split('\n').find((line) => line.startsWith('after-sync hook dbt')), check };
}

const ranAt = '2026-01-01T00:00:00.000Z';

test('after-sync: status and doctor show a hook that has not run yet', async () => {
  const { status, check } = await shown();
  expect(status).toBe('after-sync hook dbt has not run yet');
  expect(check).toMatchObject({ verdict: 'skip' });
});

test('after-sync: status and doctor show when a hook ran', async () => {
  store({ ran_at: ranAt, succeeded_at: ranAt });
  const { status, check } = await shown();
  expect(status).toMatch(/^after-sync hook dbt ran .+ ago$/);
  expect(check).toMatchObject({ verdict: 'pass' });
});

test('after-sync: status and doctor show a failing hook, why, and what comes next', async () => {
  const failed = { ran_at: ranAt, last_error: 'ended with code 1', attempts: 3 };
  const nextAt = '2026-01-01T00:15:00.000Z';
  store({ ...failed, body: '{}', last_seq: 2, queued_at: ranAt, next_at: nextAt });
  const waiting = await shown();
  expect(waiting.status).toContain(`failed 3 times`);
  expect(waiting.status).toContain(`: ended with code 1; next attempt at ${nextAt}`);
  expect(waiting.check).toMatchObject({ verdict: 'warn' });
  expect(JSON.stringify(waiting.check)).toContain('ended with code 1');
  store({ ...failed, attempts: 0 });
  expect((await shown()).status).toContain('waits for the next change');
});

test('after-sync: two hooks of one name and a source that does not exist are refused', async () => {
  configure({ name: 'dbt', command: ['dbt'] }, { name: 'dbt', command: ['dbt'], sources: ['acmee'] });
  const { code, err } = await mirror.run(['config', 'validate']);
  expect(code).toBe(2);
  expect(err).toContain('afterSync[1].name');
  expect(err).toContain('afterSync[1].sources[0]');
  expect(err).toContain('acmee');
});
