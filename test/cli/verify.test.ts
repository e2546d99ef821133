import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Sqlite from 'better-sqlite3';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Sandbox } from '../../src/platform/sandbox/sandbox.js';
import type { VerifyReceipt } from '../../src/tasks/verify.js';
import { tempFolder } from '../store/temp-folder.js';
import { hurriedClock } from '../support/hurried-clock.js';
import { startSeededSandbox } from '../support/seeded-sandbox.js';
import { fakeIo, rosterd } from './fake-io.js';

let sandbox: Sandbox;
beforeAll(async () => {
  sandbox = await startSeededSandbox({ records: 60, companies: 1, limits: false });
});
afterAll(() => sandbox.close());

function office(token = sandbox.ready.companies[0]?.token) {
  const folder = tempFolder();
  writeFileSync(
    join(folder, 'config.json'),
    JSON.stringify({
      platform: { baseUrl: sandbox.ready.baseUrl },
      database: 'sqlite:mirror.db',
      sources: [{ name: 'acme', token, company: sandbox.ready.companies[0]?.id }],
    }),
  );
  return {
    // What differs is read again after two seconds.
    verify: (...args: string[]) =>
      rosterd(['verify', ...args], fakeIo({ cwd: folder, clock: hurriedClock(2_000) })),
    setAside: () => {
      const raw = new Sqlite(join(folder, 'mirror.db'));
      raw.exec(
        `INSERT INTO quarantine_rows (source_no, id, problem, seen_at)
         VALUES (1, 'inv_1', 'bad', '2026-10-20T12:00:00.000Z')`,
      );
      raw.close();
    },
    renameRound: () => {
      const raw = new Sqlite(join(folder, 'mirror.db'));
      raw.exec("UPDATE offering_rows SET name = 'Another' WHERE id = (SELECT min(id) FROM offering_rows)");
      raw.close();
    },
    breakOne: () => {
      const raw = new Sqlite(join(folder, 'mirror.db'));
      const id = raw
        .prepare<[], string>(
          `UPDATE investment_rows SET committed_cents = committed_cents + 5
           WHERE row_no = (SELECT min(row_no) FROM investment_rows) RETURNING id`,
        )
        .pluck()
        .get();
      raw.close();
      return id ?? '';
    },
  };
}

test('verify syncs a new mirror first and then finds it equal: exit 0', async () => {
  const { verify } = office();
  const { code, out } = await verify('--full', '--json');
  const receipt = JSON.parse(out) as VerifyReceipt;
  expect(receipt).toMatchObject({ equal: true, sources: [{ source: 'acme', outcome: 'equal' }] });
  expect(receipt.sources[0]?.rows).toBeGreaterThan(40);
  expect(receipt.sources[0]?.full?.listed).toBe(receipt.sources[0]?.rows);
  expect(code).toBe(0);
});

test('verify lists drift with the next command and exits 4; --repair exits 0', async () => {
  const { verify, breakOne } = office();
  await verify();
  const id = breakOne();
  const drifted = await verify('--full');
  expect(drifted.code).toBe(4);
  expect(drifted.out).toMatch(
    new RegExp(`^acme: ${id} differs in committed_cents: committed_cents mirror \\d+, platform \\d+$`, 'm'),
  );
  expect(drifted.err).toContain('Try: rosterd verify --source acme --repair');
  const repaired = await verify('--full', '--repair');
  expect(repaired.code).toBe(0);
  expect(repaired.out).toContain('0 added, 1 changed, 0 removed');
  // More than the default of --calls, which limits each comparison and no repair.
  expect(repaired.out).toMatch(/^verified at \S+ with \d+ calls, repairs included$/m);
  const equal = await verify('--full');
  expect(equal.code).toBe(0);
  expect(equal.out).toMatch(/^verified at \S+ with \d+ calls of 100$/m);
});

test('verify --full says when a round that differs was listed and is due again, and how to list it now', async () => {
  const { verify, renameRound } = office();
  await verify('--full');
  renameRound();
  const drifted = await verify('--full');
  expect(drifted.code).toBe(4);
  const time = '20\\d\\d-\\d\\d-\\d\\dT[\\d:.]+Z';
  expect(drifted.out).toMatch(
    new RegExp(`^acme: ofr_\\w+ differs in name \\(last listed ${time}, due again about ${time}\\)$`, 'm'),
  );
  expect(drifted.err).toContain(
    'Try: rosterd verify --source acme --full --repair, which lists companies, rounds and posts again',
  );
  const repaired = await verify('--full', '--repair');
  expect(repaired.code).toBe(0);
  expect(repaired.out).toContain(
    'repair of 1 difference done: companies, rounds and posts were listed again',
  );
});

test('verify with records in quarantine is incomplete, not equal: exit 4 and the query that lists them', async () => {
  const { verify, setAside } = office();
  await verify();
  setAside();
  for (const args of [[], ['--full']]) {
    const { code, out, err } = await verify(...args);
    expect(code).toBe(4);
    expect(out).toMatch(/^acme +incomplete /m);
    expect(out).toContain('acme: 1 record could not be read: in quarantine, and not compared');
    expect(err).toContain('FROM quarantine');
  }
});

test('verify exits 5 when its calls are used up, and prints how to allow more', async () => {
  const { verify } = office();
  await verify();
  const { code, err } = await verify('--calls', '2');
  expect(code).toBe(5);
  expect(err).toContain('the verification has used the 2 calls it may make');
  expect(err).toContain('Try: rosterd verify --calls N, with a larger N');
});

test('verify with a rejected token exits 3', async () => {
  const { code, err } = await office('at_test_nobody0000000000000000').verify();
  expect([code, err]).toEqual([3, expect.stringContaining('Try: rosterd doctor, which names the token')]);
});

test.each([
  ['--calls', '0'],
  ['--sample', 'many'],
  ['--source', 'nobody'],
])('verify %s %s is a usage error: exit 2', async (...args) => {
  expect((await office().verify(...args)).code).toBe(2);
});
