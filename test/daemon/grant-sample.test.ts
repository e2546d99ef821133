import { expect, onTestFinished, test } from 'vitest';
import { startEngine } from '../../src/daemon/engine.js';
import { syncSources } from '../../src/daemon/sync-sources.js';
import { configFor, control, freshFolder, partsFor, sandboxFor } from './daemon-fixture.js';

const never = new AbortController().signal;

interface Listed {
  readonly data: readonly { readonly investor: { readonly id: string } }[];
}

test('a token is judged by records that can tell, although the oldest are of deactivated investors', async () => {
  const sandbox = await sandboxFor({ records: 40, companies: 1 });
  const { ready } = sandbox;
  const [company] = ready.companies;
  if (company === undefined) throw new Error('a sandbox without a company');
  const plain = configFor(sandbox, { folder: freshFolder() });
  const config = { ...plain, sync: { ...plain.sync, perPage: 2 } };
  const engine = await startEngine({ ...partsFor(config), asksGrants: false });
  onTestFinished(() => engine.close());
  const headers = { authorization: `Bearer ${company.token}` };
  const response = await fetch(`${ready.baseUrl}/investments?per_page=100`, { headers });
  const { data } = (await response.json()) as Listed;
  const deactivate = async (first: number) => {
    for (const id of new Set(data.slice(0, first).map(({ investor }) => investor.id)))
      await control(sandbox, 'POST', `/users/${id}/deactivate`);
  };
  const judged = async (token: string) => {
    const sources = configFor(
      { ready: { ...ready, companies: [{ ...company, token }] } },
      { folder: freshFolder() },
    );
    const [source] = await syncSources(config, sources.sources, engine.platform);
    return await source?.mayReadIdentity?.(never);
  };
  await deactivate(20);
  expect([await judged(company.token), await judged(company.tokenWithoutIdentity)]).toEqual([true, false]);

  await deactivate(data.length);
  const asked = async () =>
    ((await control(sandbox, 'GET', '/requests?since=0')) as { requests: readonly unknown[] }).requests
      .length;
  const before = await asked();
  expect(await judged(company.token)).toBeNull();
  // Ten pages, and the request that counts them.
  expect((await asked()) - before).toBeLessThanOrEqual(11);
});
