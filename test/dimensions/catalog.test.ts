import { expect, onTestFinished, test } from 'vitest';
import type { Config } from '../../src/config/config.js';
import { startDaemon } from '../../src/daemon/daemon.js';
import type { Sandbox } from '../../src/platform/sandbox/sandbox.js';
import { syncOnce } from '../../src/tasks/sync-once.js';
import { configFor, control, freshFolder, partsFor, readerOf, sandboxFor } from '../daemon/daemon-fixture.js';
import { freePort } from '../support/free-port.js';

const never = new AbortController().signal;

const asked = async (sandbox: Sandbox): Promise<readonly string[]> => {
  const { requests } = (await control(sandbox, 'GET', '/requests')) as { requests: { path: string }[] };
  return requests.map(({ path }) => path).filter((path) => !path.startsWith('/_sandbox'));
};

const once = (config: Config) => syncOnce(partsFor(config), {}, never);

test('sync: companies and rounds have the names of the platform, in every view', async () => {
  const sandbox = await sandboxFor({ companies: 1, records: 30 });
  const config = configFor(sandbox, { folder: freshFolder() });
  await once(config);
  const reader = readerOf(config);
  const company = sandbox.ready.companies[0];
  expect(reader.prepare('SELECT id, name FROM companies').all()).toEqual([
    { id: company?.id, name: company?.name },
  ]);
  const year = new Date(sandbox.clock.now()).getUTCFullYear();
  expect(reader.prepare('SELECT name FROM rounds ORDER BY name').pluck().all()).toEqual([
    `Reg CF Equity ${year}`,
    `Reg CF SAFE ${year - 1}`,
    `Reg CF SAFE ${year}`,
    `Reg CF SAFE ${year} reservations`,
  ]);
  for (const view of ['investments', 'roster', 'round_totals', 'round_stats'])
    expect(
      reader
        .prepare(`SELECT count(*) FROM ${view} WHERE company_name IS NULL OR round_name IS NULL`)
        .pluck()
        .get(),
      view,
    ).toBe(0);
  // What the platform counts is what the mirror adds up.
  const differences = reader.prepare(
    `SELECT t.offering_id FROM round_stats t JOIN round_totals m
       ON m.source = t.source AND m.offering_id = t.offering_id AND m.status = t.status
     WHERE (t.investments, t.committed_cents, t.raised_cents) IS NOT (m.investments, m.committed_cents, m.raised_cents)`,
  );
  expect(differences.all()).toEqual([]);
});

test('sync: companies and rounds that were listed within a day are not asked for again', async () => {
  const sandbox = await sandboxFor({ companies: 1, records: 30 });
  const config = configFor(sandbox, { folder: freshFolder() });
  await once(config);
  const before = await asked(sandbox);
  await once(config);
  const again = (await asked(sandbox)).slice(before.length);
  expect(again.filter((path) => path !== '/investments')).toEqual([]);
});

test('sync: a company whose scope is lost has no name any more, and investments go on', async () => {
  const sandbox = await sandboxFor({ companies: 1, records: 30 });
  const config = configFor(sandbox, { folder: freshFolder() });
  await once(config);
  for (const path of ['/companies/*', '/offerings/*', '/companies/*/updates', '/offerings/*/stats'])
    await control(sandbox, 'POST', '/faults', [
      {
        method: 'GET',
        path,
        times: 100,
        action: { status: 403, body: { error: { type: 'insufficient_scope' } } },
      },
    ]);
  const [result] = await syncOnce(partsFor(config), { resync: true }, never);
  expect(result?.report.outcome).toBe('done');
  const reader = readerOf(config);
  expect(reader.prepare('SELECT name, unavailable FROM companies').all()).toEqual([
    { name: null, unavailable: '403 insufficient_scope' },
  ]);
  expect(reader.prepare('SELECT DISTINCT company_name FROM investments').pluck().all()).toEqual([null]);
  expect(reader.prepare('SELECT collections_problem FROM sync_status').pluck().get()).toMatch(
    /companies: 403 insufficient_scope for co_/,
  );
});

test('sync: a post that cannot be read stays as it is stored, and collections says why', async () => {
  const sandbox = await sandboxFor({ companies: 1, records: 30 });
  const config = configFor(sandbox, { folder: freshFolder() });
  await once(config);
  const reader = readerOf(config);
  const posts = () => reader.prepare('SELECT id, title FROM company_updates ORDER BY id').all();
  const before = posts() as { id: string; title: string }[];
  const [broken] = before;
  const served = [
    { id: broken?.id, attributes: { title: 7 } },
    { id: 'upd_new', attributes: { title: 'News' } },
  ];
  await control(sandbox, 'POST', '/faults', [
    {
      method: 'GET',
      path: '/companies/*/updates',
      times: 1,
      action: { status: 200, body: { data: served, meta: { has_more: false } } },
    },
  ]);
  await syncOnce(partsFor(config), { resync: true }, never);
  expect(before.length).toBeGreaterThan(1);
  expect(posts()).toEqual([broken, { id: 'upd_new', title: 'News' }]);
  expect(reader.prepare('SELECT collections_problem FROM sync_status').pluck().get()).toBe(
    `company_updates: a response with a company_update has no usable \`title\` for ${broken?.id}`,
  );
});

test('daemon: an event about a round lists it at once, and the change is in the feed', async () => {
  const sandbox = await sandboxFor({ companies: 1, records: 30 });
  const port = await freePort();
  const { secret } = (await control(sandbox, 'POST', '/webhooks', {
    url: `http://127.0.0.1:${port}/webhooks`,
    events: ['investment.changed', 'offering.closed'],
  })) as { secret: string };
  const config = configFor(sandbox, { folder: freshFolder(), receiver: { port, secret } });
  const daemon = await startDaemon(partsFor(config));
  onTestFinished(() => daemon.close());
  await daemon.engine.sync.idle();
  await daemon.engine.dimensions?.idle();
  const reader = readerOf(config);
  const [id] = reader.prepare("SELECT id FROM rounds WHERE status = 'open'").pluck().all() as [string];
  await control(sandbox, 'PATCH', `/offerings/${id}`, { status: 'closed' });
  await expect
    .poll(() => reader.prepare('SELECT status FROM rounds WHERE id = ?').pluck().get(id))
    .toBe('closed');
  expect(reader.prepare("SELECT id, kind FROM changes WHERE kind = 'round_changed'").all()).toEqual([
    { id, kind: 'round_changed' },
  ]);
  expect(reader.prepare('SELECT status FROM round_history WHERE id = ?').pluck().all(id)).toEqual(['open']);
  // The event asks for the round only: investments are not read for it.
  expect(reader.prepare('SELECT count(*) FROM ticks').pluck().get()).toBe(1);
});

test('daemon: an investment in an unknown round lists the round', async () => {
  const sandbox = await sandboxFor({ companies: 1, records: 30 });
  const config = configFor(sandbox, { folder: freshFolder() });
  const daemon = await startDaemon(partsFor(config));
  onTestFinished(() => daemon.close());
  const { sync, dimensions } = daemon.engine;
  await sync.idle();
  await dimensions?.idle();
  const company = sandbox.ready.companies[0];
  const now = sandbox.clock.now();
  sandbox.services.state
    .prepare(
      `INSERT INTO offerings (id, company_no, currency, investment_type, offering_type, started_at, created_at)
       SELECT 'ofr_new', no, 'usd', 'SAFE', 'Reg CF', ?, ? FROM companies WHERE id = ?`,
    )
    .run(now, now, company?.id);
  await control(sandbox, 'POST', '/investments', { company: company?.id, set: { offering: 'ofr_new' } });
  const [source] = config.sources;
  if (source === undefined) throw new Error('the configuration has no source');
  await sync.tick(source.name);
  await dimensions?.idle();
  const reader = readerOf(config);
  const named = reader.prepare("SELECT round_name FROM investments WHERE offering_id = 'ofr_new'").pluck();
  await expect.poll(() => named.all()).toEqual([expect.stringMatching(/^Reg CF \d{4}$/)]);
});
