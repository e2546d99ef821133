import { describe, expect, test } from 'vitest';
import type { Instant } from '../../src/domain/instant.js';
import { AuditLog, type NewAuditEntry } from '../../src/store/audit-log.js';
import { OperatorRequests } from '../../src/store/operator-requests.js';
import { Outbox } from '../../src/store/outbox.js';
import { databases } from './support/databases.js';
import { sourceRow } from './support/mirror.js';

const at = (minute: number): Instant => `2026-11-01T10:${String(minute).padStart(2, '0')}:00.000Z` as Instant;

const entry = (minute: number): NewAuditEntry => ({
  at: at(minute),
  actor: 'token:ana',
  role: 'analyst',
  action: 'query',
  outcome: 'done',
  source: null,
  subject: null,
  rows_seen: minute,
  note: null,
});

describe.each(databases)('$database', ({ open }) => {
  test('the audit log returns the newest entries first, in pages, and purges the old ones', async () => {
    const { connection } = await open();
    const log = new AuditLog(connection);
    for (const minute of [1, 2, 3]) await log.add(entry(minute));
    const [third, second] = await log.latest(null, 2);
    expect([third, second]).toMatchObject([entry(3), entry(2)]);
    expect((await log.latest(second?.entry ?? 0, 5)).map(({ rows_seen }) => rows_seen)).toEqual([1]);
    expect([await log.purge(at(3)), await log.latest(null, 5)]).toMatchObject([2, [entry(3)]]);
    await log.add(entry(4));
    expect((await log.latest(null, 1))[0]?.entry).toBeGreaterThan(third?.entry ?? 0);
  });

  test('a request of an operator waits once, and a newer confirmation outlives the older one', async () => {
    const { connection } = await open();
    const requests = new OperatorRequests(connection);
    const request = {
      source: 'acme',
      kind: 'resync',
      confirmed_rows: null,
      actor: 'token:oleg',
      role: 'operator',
      asked_at: at(1),
    } as const;
    await requests.add(request);
    await requests.add({ ...request, actor: 'token:olga', asked_at: at(2) });
    await requests.add({ ...request, kind: 'retry_quarantine', asked_at: at(3) });
    expect(await requests.list()).toEqual([
      request,
      { ...request, kind: 'retry_quarantine', asked_at: at(3) },
    ]);
    await requests.remove(request);
    expect((await requests.list()).map(({ kind }) => kind)).toEqual(['retry_quarantine']);
    const confirmed = { ...request, kind: 'accept_deletions', confirmed_rows: 3 } as const;
    const newer = { ...confirmed, confirmed_rows: 5, asked_at: at(4) };
    await requests.add(confirmed);
    await requests.add(newer);
    await requests.remove(confirmed);
    expect(await requests.list()).toContainEqual(newer);
    await requests.remove(newer);
    expect((await requests.list()).map(({ kind }) => kind)).toEqual(['retry_quarantine']);
  });

  test('an undelivered notice can be made due again, a delivered one cannot', async () => {
    const { connection, insert } = await open();
    await insert('sources', sourceRow(1));
    for (const [notice, state] of [
      [1, 'given_up'],
      [2, 'delivered'],
      [3, 'pending'],
    ] as const)
      await insert('notice_rows', {
        notice,
        source_no: 1,
        seq: notice,
        target: 'crm',
        body: '{}',
        queued_at: at(0),
        next_at: at(30),
        state,
        attempts: notice === 3 ? 0 : 4,
        last_error: notice === 1 ? 'answered 500' : null,
      });
    const outbox = new Outbox(connection);
    // A first attempt that is under way has not failed.
    await outbox.begin(3);
    expect(await outbox.undelivered(9)).toMatchObject([
      { notice: 1, target: 'crm', last_error: 'answered 500' },
    ]);
    expect([
      await outbox.resend(1, at(5)),
      await outbox.resend(2, at(5)),
      await outbox.resend(9, at(5)),
    ]).toEqual([true, false, false]);
    expect((await outbox.dueFor('crm', at(6), 9)).map(({ notice, attempts }) => [notice, attempts])).toEqual([
      [1, 0],
      [3, 1],
    ]);
  });
});
