import { renameSync } from 'node:fs';
import { expect, test } from 'vitest';
import { Fault, type FaultCode } from '../../src/domain/fault.js';
import type { CompanyId, SourceName } from '../../src/domain/ids.js';
import type { SourceEraser } from '../../src/installations/ports.js';
import { silentLogger } from '../../src/runtime/logger.js';
import { finishErasures, syncOnce } from '../../src/tasks/sync-once.js';
import {
  configFor,
  control,
  freshFolder,
  partsFor,
  readerOf,
  sandboxFor,
  totalsByHand,
  totalsHeld,
} from '../daemon/daemon-fixture.js';
import { hurriedClock } from '../support/hurried-clock.js';

const never = new AbortController().signal;

test('the mirror equals what paging by hand gives: first, after churn, and after a hundred days', async () => {
  const sandbox = await sandboxFor();
  const config = configFor(sandbox, { folder: freshFolder() });

  const first = await syncOnce(partsFor(config), {}, never);
  expect(first.map(({ report }) => [report.outcome, report.mode])).toEqual(
    Array(3).fill(['done', 'listing']),
  );
  const reader = readerOf(config);
  expect(totalsHeld(reader)).toEqual(await totalsByHand(sandbox));

  await control(sandbox, 'POST', '/churn', { changes: 100 });
  const second = await syncOnce(partsFor(config), {}, never);
  expect(second.map(({ report }) => [report.outcome, report.mode])).toEqual(Array(3).fill(['done', 'delta']));
  expect(totalsHeld(reader)).toEqual(await totalsByHand(sandbox));

  await control(sandbox, 'POST', '/churn', { changes: 30 });
  await control(sandbox, 'POST', '/clock', { advanceSeconds: 8_640_000 });
  const seen = watchCounts(reader);
  const third = await syncOnce(partsFor(config), {}, never);
  const counts = seen.stop();
  expect(third.map(({ report }) => [report.outcome, report.mode])).toEqual(
    Array(3).fill(['done', 'relisting']),
  );
  const stored = totalsHeld(reader);
  expect(stored).toEqual(await totalsByHand(sandbox));
  // For each source, the reader saw the state before or the state after, never a partial one.
  expect(counts.length).toBeGreaterThan(5);
  for (const { source, count } of counts) {
    expect(
      [
        ...seen.before.filter((row) => row.source === source),
        ...stored.filter((row) => row.source === source),
      ].map((row) => row.count),
    ).toContain(count);
  }
});

test('a first listing of a platform whose records were just published costs its pages and one request more', async () => {
  const sandbox = await sandboxFor({ records: 250, companies: 1 });
  const config = configFor(sandbox, { folder: freshFolder() });
  const asked = async () => {
    const { requests } = (await control(sandbox, 'GET', '/requests')) as {
      requests: { path: string; query: Record<string, string> }[];
    };
    return requests.filter(({ path }) => path === '/investments').length;
  };
  const [result] = await syncOnce(partsFor(config), {}, never);
  const added = result?.report.applied.added ?? 0;
  expect(added).toBeGreaterThan(200);
  expect(await asked()).toBe(Math.ceil(added / 100) + 1);
});

test('sync: a signal during the opening of the mirror ends the ticks before their first page', async () => {
  const sandbox = await sandboxFor({ records: 30, companies: 1 });
  const config = configFor(sandbox, { folder: freshFolder() });
  const results = await syncOnce(partsFor(config), {}, AbortSignal.abort());
  expect(results.map(({ report }) => [report.outcome, report.pages])).toEqual([['stopped', 0]]);
});

test('P11 a token of another account is refused with the cursor it cannot use, until a resync adopts it', async () => {
  const sandbox = await sandboxFor({ records: 30, companies: 2, limits: false });
  const folder = freshFolder();
  const one = { ...configFor(sandbox, { folder }) };
  const [mine, other] = one.sources;
  if (mine === undefined || other === undefined) throw new Error('a sandbox with two companies');
  const under = (access: typeof mine.access) =>
    partsFor({ ...one, sources: [{ ...mine, access, filters: {} }] });
  const outcome = async (access: typeof mine.access, ask = {}) =>
    (await syncOnce(under(access), ask, never)).map(({ report }) => [
      report.outcome,
      report.code,
      report.message,
    ]);
  expect(await outcome(mine.access)).toEqual([['done', null, null]]);
  expect(await outcome(other.access)).toEqual([
    ['failed', 'filters_changed', expect.stringMatching(/another account.*--resync/)],
  ]);
  expect(await outcome(other.access, { resync: true, acceptDeletions: true })).toEqual([
    ['done', null, null],
  ]);
});

test('sync: a company that was corrected after the first attempt is listed without a resync', async () => {
  const sandbox = await sandboxFor({ records: 30, companies: 1 });
  const right = configFor(sandbox, { folder: freshFolder() });
  const [source] = right.sources;
  if (source === undefined) throw new Error('a sandbox with a company');
  const companyId = 'co_0000000000000000000000' as CompanyId;
  const wrong = { ...right, sources: [{ ...source, company: companyId, filters: { companyId } }] };
  const outcome = async (config: typeof right) =>
    (await syncOnce(partsFor(config), {}, never)).map(({ report }) => [report.outcome, report.code]);
  expect(await outcome(wrong)).toEqual([['failed', 'refused']]);
  expect(await outcome(right)).toEqual([['done', null]]);
});

/** Reads the counts once per turn of the event loop, until stopped. */
function watchCounts(reader: ReturnType<typeof readerOf>) {
  const before = totalsHeld(reader);
  const seen: { source: string; count: number }[] = [];
  let watching = true;
  const look = () => {
    if (!watching) return;
    seen.push(...totalsHeld(reader));
    setImmediate(look);
  };
  setImmediate(look);
  return {
    before,
    stop: () => {
      watching = false;
      return seen;
    },
  };
}

test('sync: an unreachable platform fails with a message and stores nothing partial', async () => {
  const sandbox = await sandboxFor({ companies: 1 });
  const config = configFor(sandbox, { folder: freshFolder() });
  await control(sandbox, 'POST', '/faults', [
    { method: 'GET', path: '/investments', times: 1_000, action: { status: 503 } },
  ]);
  const [result] = await syncOnce(partsFor(config), {}, never);
  expect(result?.report).toMatchObject({ outcome: 'failed', code: 'platform_error' });
  expect(totalsHeld(readerOf(config))).toEqual([]);
});

test('sync: when the database goes away at the end, the results are returned, and what it cannot say any more is null', async () => {
  const sandbox = await sandboxFor({ companies: 1, records: 30 });
  const config = configFor(sandbox, { folder: freshFolder() });
  if (config.database.kind !== 'sqlite') throw new Error('the mirror is a file');
  const { file } = config.database;
  await syncOnce(partsFor(config), {}, never);
  await control(sandbox, 'POST', '/churn', { changes: 3 });
  const failures: FaultCode[] = [];
  const [result] = await syncOnce(partsFor(config), {}, never, {
    onProgress: () => renameSync(file, `${file}-away`),
    onUnfinished: ({ code }) => void failures.push(code),
  });
  expect(result).toMatchObject({
    report: { outcome: 'done', pages: 1 },
    quarantineOpen: null,
    listing: null,
  });
  expect(failures).toEqual(['database_unusable']);
});

test('sync --wait gives up after ten growing waits, and says so, if the platform asks for short waits for ever', async () => {
  const sandbox = await sandboxFor({ companies: 1, records: 30 });
  const body = { error: { type: 'rate_limited', message: 'Too fast.', details: { retry_after: 1 } } };
  await control(sandbox, 'POST', '/faults', [
    { path: '/investments', times: 1_000, action: { status: 429, body } },
  ]);
  const [short, long] = [hurriedClock(4_000), hurriedClock(Number.POSITIVE_INFINITY)];
  const waits: number[] = [];
  let isWaiting = false;
  const clock = {
    ...short,
    wait: (millis: number, signal?: AbortSignal) => {
      if (!isWaiting) return short.wait(millis, signal);
      isWaiting = false;
      waits.push(millis);
      return long.wait(millis, signal);
    },
  };
  const parts = { ...partsFor(configFor(sandbox, { folder: freshFolder() })), clock };
  const onWait = () => {
    isWaiting = true;
  };
  const [refused] = await syncOnce(parts, {}, never, { onWait });
  expect(refused?.report).toMatchObject({ outcome: 'waiting', code: 'rate_limited', pages: 0 });
  expect(refused?.report.message).toContain('gave up after 10 waits');
  expect(waits.map((millis, index) => millis >= 1_000 * 2 ** index)).toEqual(Array(10).fill(true));
});

test('sync: a rejected token halts the source for a person', async () => {
  const sandbox = await sandboxFor({ companies: 1 });
  const company = sandbox.ready.companies[0];
  if (company === undefined) throw new Error('the sandbox has a company');
  await control(sandbox, 'POST', `/installations/${company.installation}/revoke`);
  const config = configFor(sandbox, { folder: freshFolder() });
  const [result] = await syncOnce(partsFor(config), {}, never);
  expect(result?.report).toMatchObject({ code: 'unauthorized' });
  expect(result?.phase?.kind).toBe('halted');
});

test('sync finishes the other erasures when another process has a source, and throws for a database that fails', async () => {
  const asked: string[] = [];
  let code: FaultCode = 'lease_lost';
  const eraser: SourceEraser = {
    unfinished: async () => ['first', 'second'] as SourceName[],
    erase: async (source) => {
      asked.push(source);
      if (source === 'first') throw new Fault(code, 'not now');
      return { rows: 1 };
    },
  };
  const finish = () => finishErasures({ mirror: { eraser } }, { logger: silentLogger });
  await finish();
  code = 'database_busy';
  await finish();
  expect(asked).toEqual(['first', 'second', 'first', 'second']);
  code = 'database_full';
  await expect(finish()).rejects.toMatchObject({ code });
});
