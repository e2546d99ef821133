import { expect, test } from 'vitest';
import { all } from '../../../src/platform/state/statements.js';
import { companyOf, publishableKey } from '../../conformance/catalog.js';
import { startNewlySeeded } from '../../conformance/running-platform.js';

test('sandbox: the same seed produces the same catalog, another seed a different one', async () => {
  const shown = [];
  for (const seed of [5, 5, 6]) {
    const world = await startNewlySeeded({ seed });
    const { body } = await world.get('/explore?status=all', { token: publishableKey(world) });
    expect(body.data.length).toBeGreaterThan(8);
    shown.push(body.data);
    await world.close();
  }
  expect(shown[1]).toEqual(shown[0]);
  expect(shown[2]).not.toEqual(shown[0]);
});

test('sandbox: seeded feed numbers are unique and not beyond the head of the feed', async () => {
  const world = await startNewlySeeded();
  const rows = all<{ seq: number }>(world.services.state, 'SELECT seq FROM ledger ORDER BY seq');
  const [feed] = all<{ head: number }>(world.services.state, 'SELECT head FROM feed');
  expect(rows.at(-1)?.seq).toBeLessThanOrEqual(feed?.head ?? 0);
  expect(new Set(rows.map((row) => row.seq)).size).toBe(rows.length);
  await world.close();
});

test('sandbox: churn changes only companies with an installation', async () => {
  const world = await startNewlySeeded();
  const count = () =>
    all(
      world.services.state,
      `SELECT i.no FROM investments i WHERE NOT EXISTS (SELECT 1 FROM installations n WHERE n.company_no = i.company_no)`,
    ).length;
  const before = count();
  expect(before).toBeGreaterThan(20);
  await world.control('POST', '/churn', { changes: 60 });
  expect(count()).toBe(before);
  await world.close();
});

test('sandbox: the pitch of every company with perks shows them', async () => {
  const world = await startNewlySeeded();
  const seeded = all<{ company: string; offering: string }>(
    world.services.state,
    `SELECT c.id AS company, o.id AS offering FROM perks p JOIN offerings o ON o.no = p.offering_no
     JOIN companies c ON c.no = o.company_no ORDER BY p.offering_no`,
  );
  expect(seeded.map((row) => row.company)).toEqual(
    expect.arrayContaining(world.ready.companies.map(({ id }) => id)),
  );
  // She may see every page that is not hidden.
  const ida = world.ready.users.find(({ email }) => email === 'ida@people.example');
  const shown = [];
  for (const { company } of seeded) {
    const path = `/companies/${company}/pitch?sections=perks`;
    const { status, body } = await world.get(path, { token: ida?.token ?? '' });
    if (status === 200) shown.push({ company, offering: body.data.attributes.perks?.offering_id });
  }
  expect(shown.length).toBeGreaterThan(4);
  expect(seeded).toEqual(expect.arrayContaining(shown));
  await world.close();
});

test('COMP-10 COMP-17 COMP-18 sandbox: filings of the ready document show every section and year, one of the catalog hides some', async () => {
  const world = await startNewlySeeded();
  const token = publishableKey(world);
  const filing = async (company: string) =>
    (await world.get(`/companies/${company}/disclosures`, { token })).body.data.attributes;
  for (const { id } of world.ready.companies) {
    const shown = await filing(id);
    expect(Object.entries(shown).filter(([, value]) => value === null)).toEqual([]);
    expect(Object.keys(shown.financial_statements)).toEqual(['most_recent', 'prior', 'prior_prior']);
  }
  const lanterns = await filing(companyOf(world, 'harbour-lanterns').id);
  expect(lanterns.related_parties).toBeNull();
  expect(Object.keys(lanterns.financial_statements)).toEqual(['most_recent', 'prior']);
  await world.close();
});

test('sandbox: no seeded user or installation holds a scope that only client credentials can hold', async () => {
  const world = await startNewlySeeded();
  const held = all<{ scopes: string }>(
    world.services.state,
    'SELECT scopes FROM access_tokens UNION SELECT scopes FROM installations UNION SELECT scopes FROM grants',
  ).flatMap((row) => row.scopes.split(' '));
  expect(held).toContain('read:investments');
  expect(held.filter((scope) => scope.includes('referral'))).toEqual([]);
  await world.close();
});

test('explore: tags have labels as people write them', async () => {
  const world = await startNewlySeeded();
  const { body } = await world.get('/explore?status=all&per_page=100', { token: publishableKey(world) });
  const labels = new Map<string, string>();
  for (const { attributes } of body.data) {
    for (const { type, label } of [...attributes.industries, ...attributes.business_models])
      labels.set(type, label);
  }
  expect(labels.get('b2b')).toBe('B2B');
  expect(labels.get('saas')).toBe('SaaS');
  expect([...labels.values()].filter((label) => !/^[A-Z][A-Za-z0-9 -]+$/.test(label))).toEqual([]);
  await world.close();
});
