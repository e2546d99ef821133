import { expect, test } from 'vitest';
import type { Api } from '../../src/client/api.js';
import type { Access } from '../../src/config/config.js';
import { installationsApi } from '../../src/daemon/installations-api.js';
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
  const client = { besides: () => api };
  const platform = { client, tokensOf: () => ({}) } as unknown as Parameters<typeof installationsApi>[0];
  return installationsApi(platform, {} as Access);
}

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
