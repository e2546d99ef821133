import { expect, test } from 'vitest';
import type { Api } from '../../src/client/api.js';
import type { SourceFilters } from '../../src/config/config.js';
import { expectedRows } from '../../src/daemon/expected-rows.js';
import { Fault } from '../../src/domain/fault.js';
import type { CompanyId, OfferingId, UserId } from '../../src/domain/ids.js';

const never = new AbortController().signal;
const companyId = 'co_acme' as CompanyId;
const offeringId = 'ofr_1' as OfferingId;

/** A platform with one company, by its rounds: investors and records. Records that are null are refused with a 404. */
function platformOf(rounds: Readonly<Record<string, readonly [investors: number, records: number | null]>>) {
  const asked: string[] = [];
  const api: Api = async ({ path, params = {} }) => {
    const id = Object.values(params).join();
    asked.push(path.endsWith('/stats') ? `stats of ${id}` : id);
    const reply = (body: unknown) => ({ status: 200, body, text: JSON.stringify(body) });
    if (!path.endsWith('/stats')) {
      const service_rounds = Object.entries(rounds).map(([offering_id, [investor_count]]) => ({
        offering_id,
        investor_count,
      }));
      return reply({ data: { id, attributes: { name: 'Acme', service_rounds } } });
    }
    const count = rounds[id]?.[1] ?? null;
    if (count === null) throw new Fault('refused', 'no such offering', { status: 404 });
    const total = { count, committed_cents: 0, raised_cents: 0 };
    return reply({ data: { offering: id, by_status: { active: total }, total }, meta: {} });
  };
  const ask = async (filters: SourceFilters) => [await expectedRows(api, filters, never), asked];
  return { api, ask };
}

test('the records of a source of one round are counted by the platform, for one request', async () => {
  expect(await platformOf({ ofr_1: [300, 412] }).ask({ companyId, offeringId })).toEqual([
    412,
    ['stats of ofr_1'],
  ]);
});

test('the records of a company are those of its rounds, for one request more than it has rounds', async () => {
  expect(await platformOf({ ofr_1: [300, 400], ofr_2: [900, 1_000] }).ask({ companyId })).toEqual([
    1_400,
    ['co_acme', 'stats of ofr_2', 'stats of ofr_1'],
  ]);
});

test('of a company with many rounds, the four largest are counted and the others estimated', async () => {
  const rounds = {
    ofr_1: [10, 99],
    ofr_2: [400, 800],
    ofr_3: [300, 600],
    ofr_4: [20, 99],
    ofr_5: [200, 400],
  };
  const { ask } = platformOf({ ...rounds, ofr_6: [100, 200] } as never);
  // 2,000 records of 1,000 investors, and 30 investors more.
  expect(await ask({ companyId })).toEqual([
    2_060,
    ['co_acme', 'stats of ofr_2', 'stats of ofr_3', 'stats of ofr_5', 'stats of ofr_6'],
  ]);
});

test.each<[string, SourceFilters, readonly string[]]>([
  ['of one investor', { companyId, investorId: 'usr_1' as UserId }, []],
  ['of all companies of a token', {}, []],
])('how many records a source %s has is not known, and nothing is asked', async (_, filters, asked) => {
  expect(await platformOf({ ofr_1: [1, 1] }).ask(filters)).toEqual([null, asked]);
});

test.each<[string, Parameters<typeof platformOf>[0]]>([
  ['has no rounds', {}],
  ['has no records yet', { ofr_1: [0, 0] }],
  ['has more records than a number can count', { ofr_1: [1, 2 ** 53 - 1], ofr_2: [1, 1] }],
  [
    'has a round whose records the platform does not count for this token',
    { ofr_1: [3, 4], ofr_2: [5, null] },
  ],
])('how many records there are is not known when a company %s', async (_, rounds) => {
  expect((await platformOf(rounds).ask({ companyId }))[0]).toBe(null);
});

test('a request that fails is thrown', async () => {
  const api: Api = () => Promise.reject(new Fault('forbidden', 'no scope', { status: 403 }));
  await expect(expectedRows(api, { companyId }, never)).rejects.toMatchObject({ code: 'forbidden' });
});
