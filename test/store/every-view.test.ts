import { expect, test } from 'vitest';
import { publicRelations } from '../../src/store/dictionary/relations.js';
import { freshStore, rowsOf, type Store } from './mirror-fixture.js';
import { recordDefaults } from './support/mirror.js';
import { numbersIn, seedIdentity, seedInvestment, seedRow, seedSource } from './support/seeds.js';

const at = '2026-10-18T00:00:00.000Z';
const later = '2026-10-19T00:00:00.000Z';
const texts = ['', '0', "it's", 'Élodie 🌱', '\u{10ffff}', '{"a":1}', 'a\nb\tc', '\u2028'];

/** Rows in every state that a view distinguishes. */
async function fill(store: Store): Promise<void> {
  const unlisted = {
    listed_at: null,
    listed_seq: null,
    cursor: null,
    cursor_saved_at: null,
    published_through: null,
  };
  await seedSource(store, 1, {
    name: 'acme',
    rows_held: 9,
    last_outcome: 'done',
    last_tick_at: at,
    history_from: at,
  });
  await seedSource(store, 2, {
    name: 'Beta',
    last_outcome: 'failed',
    last_error_code: 'unreachable',
    last_error: 'x',
  });
  await seedSource(store, 3, { name: 'empty', state: 'empty', ...unlisted });
  await seedSource(store, 4, {
    name: 'listing',
    state: 'listing',
    pages_incoming: 2,
    rows_incoming: 1,
    ...unlisted,
  });
  await seedSource(store, 5, {
    name: 'relisting',
    state: 'relisting',
    identity_included: 0,
    awaiting_deletion: 1,
  });
  await seedSource(store, 6, {
    name: 'held',
    state: 'held',
    identity_included: 1,
    names_from_generation: 2,
  });
  await seedSource(store, 7, { name: 'sweeping', state: 'sweeping', last_outcome: 'stopped' });
  await seedSource(store, 8, {
    name: 'halted',
    state: 'halted',
    halted_from: 'following',
    halted_code: 'unauthorized',
    halted_at: at,
    halted_message: 'a person',
    quarantined: 3,
    retry_at: later,
  });
  const listing = { generation: 2, rows: 4, pages: 1, started_at: at };
  await seedRow(store, 'listings', { source_no: 4, kind: 'first', ...listing });
  await seedRow(store, 'listings', { source_no: 5, kind: 'relist', ...listing, token: 't', low_mark: at });
  await seedRow(store, 'listings', {
    source_no: 6,
    kind: 'relist',
    ...listing,
    final: 'f',
    would_remove: 77,
  });
  await seedRow(store, 'sweeps', { source_no: 7, since: at, cursor: 'c' });
  await seedInvestment(store, 4, 'inv_unseen');
  for (const [n, text] of texts.entries()) {
    const row = await seedInvestment(store, 1 + (n % 2), `inv_${n}`, {
      ...{
        group_label: text,
        reason: text,
        status: n % 3 === 0 ? 'active' : 'executed',
        investor_id: `usr_${n % 3}`,
      },
      applied_at: n === 4 ? null : `2026-10-1${n}T23:59:59.999Z`,
      currency: n === 5 ? null : 'usd',
      ...{
        raised_cents: n === 6 ? null : 10 ** n,
        shares: `${n}.50`,
        visible: n % 2,
        via_entity: 1 - (n % 2),
      },
      blockers: n === 3 ? '[{"key":"needs_id"}]' : '[]',
      extra: n === 2 ? '{"new":true}' : null,
      ...(n > 5 ? { valid_from: at, change_seq: n } : {}),
    });
    if (n !== 1)
      await seedIdentity(store, row, { name: text, email: n === 2 ? null : text, email_hidden: n % 2 });
  }
  const held = await seedInvestment(store, 5, 'inv_named');
  const unnamed = await seedInvestment(store, 5, 'inv_unnamed');
  await seedRow(store, 'awaiting_deletion_rows', {
    row_no: unnamed,
    source_no: 5,
    generation: 1,
    missing_since: at,
  });
  await seedRow(store, 'staged_pages', { source_no: 5, page: 1, seen: numbersIn(store, [held]) });
  await seedRow(store, 'staged_rows', {
    source_no: 5,
    id: 'inv_staged',
    ...recordDefaults,
    committed_cents: 5,
  });
  for (const ended_by of ['update', 'tombstone', 'relist'])
    await seedRow(store, 'history_rows', {
      source_no: 1,
      id: 'inv_0',
      ...recordDefaults,
      valid_from: '2026-10-01T00:00:00.000Z',
      change_seq: 1,
      valid_to: later,
      ended_by,
    });
  for (const [seq, kind] of ['snapshot', 'added', 'changed', 'removed'].entries())
    await seedRow(store, 'change_rows', {
      seq: seq + 1,
      source_no: 1,
      kind,
      at,
      id: seq === 0 ? null : 'inv_0',
      ...(kind === 'changed' ? { fields: '["status"]', reason: 'status_changed' } : {}),
    });
  for (const [outcome, code] of [
    ['done', null],
    ['failed', 'unreachable'],
  ] as const)
    await seedRow(store, 'tick_rows', {
      source_no: 1,
      trigger: 'timer',
      mode: 'delta',
      started_at: at,
      took_ms: 5,
      pages: 1,
      added: 1,
      changed: 2,
      removed: 3,
      quarantined: 4,
      outcome,
      code,
      message: code,
    });
  for (const [target, body] of [
    ['hook', '{"text":"Élodie"}'],
    ['shell', ''],
  ] as const)
    await seedRow(store, 'notice_rows', {
      source_no: 1,
      seq: 1,
      target,
      body,
      queued_at: at,
      next_at: later,
    });
  for (const id of ['inv_8', null])
    await seedRow(store, 'quarantine_rows', { source_no: 1, id, problem: 'p', body: '{', seen_at: at });
  await seedRow(store, 'drift_rows', {
    source_no: 1,
    field: 'investor.phone',
    times: 3,
    first_seen: at,
    last_seen: later,
  });
  for (const source of ['acme', 'acme,beta', null])
    await seedRow(store, 'webhook_inbox', {
      ...{
        event_id: `evt_${source}`,
        installation: '',
        event: 'investment.changed',
        source,
        received_at: at,
      },
      observed_at: at,
      body: source === null ? null : '{}',
      state: source === null ? 'ignored' : 'pending',
    });
  await fillCatalog(store);
  await seedRow(store, 'erasures', { source_no: 1, id: 'inv_9', cause: 'tombstone', invisible_at: at });
  await seedRow(store, 'erasures', { id: 'usr_9', cause: 'forget', invisible_at: at, scrubbed_at: later });
  await seedRow(store, 'forgotten', { id: 'usr_9', forgotten_at: at });
  await seedRow(store, 'followed_sources', {
    ...{ source: 'acme', rule: 'crm', realm: 'live', target_type: 'company', target: 'co_1' },
    ...{
      installation: 'inst_1',
      state: 'connected',
      scopes: 'read:investments',
      mints: 1,
      first_seen_at: at,
    },
  });
}

/** The company and the round of the investments, which every view names, and others. */
async function fillCatalog(store: Store): Promise<void> {
  const version = { valid_from: at, change_seq: 1 };
  const superseded = { ...version, valid_to: later };
  const company = { source_no: 1, id: 'co_1', name: 'Élodie & Søns', reported_rounds: '[]', ...version };
  await seedRow(store, 'company_rows', company);
  await seedRow(store, 'company_rows', {
    source_no: 2,
    id: 'co_1',
    unavailable: '404 not_found',
    reported_rounds: '[]',
    extra: '{"new":1}',
    ...version,
  });
  await seedRow(store, 'company_history_rows', { ...company, ...superseded, ended_by: 'update' });
  const round = { source_no: 1, id: 'ofr_1', company_id: 'co_1', name: 'Reg CF SAFE 2025', ...version };
  await seedRow(store, 'offering_rows', { ...round, testing_the_waters: 0, target_cents: 9007199254740991 });
  await seedRow(store, 'offering_rows', { ...round, source_no: 5, testing_the_waters: null });
  await seedRow(store, 'offering_history_rows', { ...round, ...superseded, ended_by: 'removed' });
  await seedRow(store, 'update_rows', {
    source_no: 1,
    id: 'upd_1',
    company_id: 'co_1',
    title: 'Hello',
    pinned: 1,
    ...version,
  });
  await seedRow(store, 'round_stat_rows', {
    source_no: 1,
    offering_id: 'ofr_1',
    status: 'active',
    company_id: 'co_1',
    investments: 1,
    committed_cents: 2,
    raised_cents: 3,
    asked_at: at,
  });
  for (const [collection, problem] of [
    ['companies', null],
    ['round_stats', '403 insufficient_scope for ofr_1'],
    ['rounds', '404 not_found for ofr_1'],
  ] as const)
    await seedRow(store, 'collection_rows', {
      source_no: 1,
      collection,
      attempt: 1,
      asked_at: at,
      listed_at: at,
      ...(problem === null ? {} : { problem, problem_since: at }),
    });
  await seedRow(store, 'change_rows', {
    seq: 5,
    source_no: 1,
    about: 'round',
    id: 'ofr_1',
    kind: 'changed',
    fields: '["name"]',
    at,
  });
}

const values = async (store: Store, name: string) =>
  (await rowsOf(store, `SELECT * FROM ${name}`)).map((row) => Object.entries(row as object));

test('every documented table and view has the columns of the dictionary, in order, and the same rows on both databases', async () => {
  const stores = [await freshStore('sqlite'), await freshStore('postgres')] as const;
  for (const store of stores) await fill(store);
  for (const { name, columns } of publicRelations) {
    const [here, there] = await Promise.all(stores.map((store) => values(store, name)));
    const sorted = (rows: typeof here) => rows?.map((row) => JSON.stringify(row)).sort();
    expect(here?.length, `${name} shows something`).toBeGreaterThan(0);
    expect(
      here?.[0]?.map(([column]) => column),
      name,
    ).toEqual(columns.map((column) => column.name));
    expect(sorted(there), name).toEqual(sorted(here));
  }
});
