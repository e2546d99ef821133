import { expect, test } from 'vitest';
import type { Api } from '../../src/client/api.js';
import type { Access } from '../../src/config/config.js';
import { installationsApi } from '../../src/daemon/installations-api.js';
import { Fault, type FaultCode } from '../../src/domain/fault.js';
import type { InstallationId } from '../../src/domain/ids.js';

const never = new AbortController().signal;

const entry = (id: string, target: object, set: object = {}) => ({
  id,
  type: 'installation',
  attributes: { target: { type: 'company', ...target }, status: 'active', scopes: [], tier: 'admin', ...set },
});

function apiOf(...entries: readonly unknown[]) {
  const api: Api = async ({ path }) => {
    const body = { data: path.endsWith('}') ? entries[0] : entries, meta: { count: entries.length } };
    return { status: 200, body, text: JSON.stringify(body) };
  };
  return over(api);
}

function over(api: Api) {
  const client = { besides: () => api };
  const platform = { client, tokensOf: () => ({}) } as unknown as Parameters<typeof installationsApi>[0];
  return installationsApi(platform, {} as Access);
}

const failing = (code: FaultCode, status: number) =>
  over(async () => {
    throw new Fault(code, String(status), { status });
  });

test('installations: one whose company has an id that no database can store is left out, and the list is incomplete', async () => {
  const whole = entry('inst_1', { id: 'co_1', name: 'Tidal' });
  for (const id of ['co_\u0000', '', 'co 2']) {
    const broken = entry('inst_2', { id, name: 'Nul' });
    const { installations, isComplete } = await apiOf(whole, broken).list(never);
    expect([installations.map(({ target }) => target), isComplete]).toEqual([['co_1'], false]);
    await expect(apiOf(broken).get('inst_2' as InstallationId, never)).rejects.toMatchObject({
      code: 'contract_broken',
      message: 'a response with an installation has no usable `target`',
    });
  }
});

test('installations: what the platform says of one is followed only if it is active or revoked', async () => {
  const company = { id: 'co_1', name: 'Tidal' };
  const of = (status: string, target: object = company) =>
    apiOf(entry('inst_1', target, { status })).get('inst_1' as InstallationId, never);
  expect(await of('active')).toMatchObject({ id: 'inst_1', target: 'co_1', isActive: true });
  expect(await of('revoked')).toMatchObject({ isActive: false });
  await expect(of('suspended')).rejects.toMatchObject({ code: 'contract_broken' });
  // One that is no source, such as of a person, needs no id that can be stored.
  expect(await of('active', { type: 'user', id: '' })).toMatchObject({ targetType: 'user' });
  await expect(of('active', { type: 'syndicate', id: '' })).rejects.toMatchObject({
    code: 'contract_broken',
  });
});

test.each<[FaultCode, number, 'unknown' | 'thrown']>([
  ['refused', 404, 'unknown'],
  ['refused', 400, 'thrown'],
  ['contract_broken', 404, 'thrown'],
  ['unauthorized', 401, 'thrown'],
])('installations: a fault (%s, %i) says of one that it is %s', async (code, status, expected) => {
  const got = failing(code, status).get('inst_1' as InstallationId, never);
  if (expected === 'unknown') expect(await got).toBeNull();
  else await expect(got).rejects.toMatchObject({ code });
});

test.each<[FaultCode, number, boolean | 'thrown']>([
  ['unauthorized', 401, false],
  ['forbidden', 403, true],
  ['refused', 400, true],
  ['contract_broken', 401, 'thrown'],
  ['platform_error', 503, 'thrown'],
  ['rate_limited', 429, 'thrown'],
])(
  'installations: a fault (%s, %i) says whether the platform accepts a token: %s',
  async (code, status, expected) => {
    const accepted = failing(code, status).accepts('at_live_canary', never);
    if (expected === 'thrown') await expect(accepted).rejects.toMatchObject({ code });
    else expect(await accepted).toBe(expected);
  },
);
