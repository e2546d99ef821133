import { afterEach, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import type { PlatformEvent } from '../../../src/platform/events.js';
import { type RunningPlatform, startNewlySeeded } from '../../conformance/running-platform.js';
import { startReceiver } from '../webhooks/receiver.js';

let world: RunningPlatform;
let events: PlatformEvent[];
beforeEach(async () => {
  world = await startNewlySeeded({ companies: 10, records: 2, installed: 0.6, limits: false });
  events = [];
  world.services.events.subscribe((event) => events.push(event));
});
afterEach(() => world.close());

const manager = () => world.ready.users[0]?.token ?? '';
const installs = async (query = '') => (await world.control('GET', `/installations${query}`)).body;
const names = () => events.map(({ name }) => name);

describe('a world with companies that have not installed the application', () => {
  test('the ready document lists them apart, without an installation or a token', () => {
    const { companies, uninstalled, users } = world.ready;
    expect([companies.length, uninstalled.length]).toEqual([6, 4]);
    for (const company of uninstalled) {
      expect(Object.keys(company)).not.toContain('token');
      expect(company.offerings.length).toBeGreaterThan(1);
      expect(users.map(({ id }) => id)).toContain(company.founder);
    }
  });

  test('INST-01 a manager lists the installations of the others only', async () => {
    const { body } = await world.get('/installations', { token: manager() });
    const targets = body.data.map(
      (item: { attributes: { target: { id: string } } }) => item.attributes.target.id,
    );
    const companies = targets.filter((id: string) => id.startsWith('co_'));
    expect(companies.sort()).toEqual(world.ready.companies.map(({ id }) => id).sort());
  });

  test('the same seed leaves the same companies without an installation, and a reset returns to them', async () => {
    const before = world.ready.uninstalled.map(({ id }) => id);
    await world.control('POST', '/installations', { all: true });
    const { body } = await world.control('POST', '/reset');
    expect(body.uninstalled.map(({ id }: { id: string }) => id)).toEqual(before);
    const { body: again } = await world.control('POST', '/installations', { all: true });
    expect(again.ids).toHaveLength(4);
  });

  test('a world without any installation starts, and its founders can install', async () => {
    const bare = await startNewlySeeded({ companies: 2, records: 1, installed: 0 });
    try {
      expect(bare.ready.companies).toEqual([]);
      expect((await bare.control('POST', '/installations', { all: true })).body.ids).toHaveLength(2);
    } finally {
      await bare.close();
    }
  });
});

describe('installing as founders', () => {
  test('EVT-05 each install emits the event of the API, in its founder’s role', async () => {
    const [company] = world.ready.uninstalled;
    const { status, body } = await world.control('POST', '/installations', { companies: [company?.id] });
    expect(status).toBe(200);
    expect(body).toEqual({
      ids: [expect.stringMatching(/^inst_/)],
      installations: [{ id: body.ids[0], company: company?.id }],
    });
    expect(names()).toEqual(['installation.created']);
    const scopes = new Set<string>();
    expect(events[0]?.dataFor({ scopes, kind: 'company' })).toMatchObject({
      id: body.ids[0],
      target: { type: 'company', id: company?.id },
      tier: 'founder',
      status: 'active',
      actor: { role: 'founder' },
    });
  });

  test('INST-19 a manager mints a token for an install that a founder made, and the token reads', async () => {
    const { body } = await world.control('POST', '/installations', { count: 1, seed: 5 });
    const minted = await world.post(`/installations/${body.ids[0]}/tokens`, {
      token: manager(),
      body: { scopes: ['read:investments'] },
    });
    expect(minted.status).toBe(201);
    const read = await world.get('/investments', { token: minted.body.token.access_token });
    expect(read.status).toBe(200);
    expect((await installs(`?company=${body.installations[0].company}`)).data[0].tokens).toBe(1);
  });

  test('tokens are minted with the installation when the call asks for them, with its scopes', async () => {
    const { body } = await world.control('POST', '/installations', {
      count: 2,
      scopes: ['read:investments'],
      tokens: true,
    });
    for (const { token } of body.installations) {
      expect((await world.get('/investments', { token })).status).toBe(200);
      expect((await world.get('/companies/search?q=a', { token })).status).toBe(200);
      expect((await world.get('/webhook_endpoints', { token })).status).toBe(403);
    }
  });

  test('INST-09 an installed company is refused with the id of its installation, and the whole call does nothing', async () => {
    const [installed] = world.ready.companies;
    const [free] = world.ready.uninstalled;
    const answer = await world.control('POST', '/installations', { companies: [free?.id, installed?.id] });
    expect(answer.status).toBe(409);
    expect(answer.body.error.details.installation).toBe(installed?.installation);
    expect((await installs(`?company=${free?.id}`)).count).toBe(0);
  });

  test('a count larger than the companies without an installation is refused with their number', async () => {
    const answer = await world.control('POST', '/installations', { count: 5 });
    expect(answer.status).toBe(409);
    expect(answer.body.error.message).toBe('There are 4 companies without one, not 5.');
  });

  test('the same seed chooses the same companies', async () => {
    const chosen = async () =>
      (await world.control('POST', '/installations', { count: 2, seed: 9 })).body.installations.map(
        ({ company }: { company: string }) => company,
      );
    const first = await chosen();
    await world.control('POST', '/reset');
    expect(await chosen()).toEqual(first);
  });

  test.each([
    [{}, 'body: give one of companies, count and all.'],
    [{ all: true, count: 1 }, 'body: give one of companies, count and all.'],
    [{ all: true, seed: 1 }, 'seed: chooses among many: give it with count.'],
    [{ companies: ['co_none'] }, 'companies: co_none is not a company of the test realm.'],
  ])('a body %j is refused with what to give', async (body, message) => {
    const answer = await world.control('POST', '/installations', body);
    expect([answer.status, answer.body.error.message]).toEqual([400, message]);
  });
});

describe('revoking and reinstalling', () => {
  test('EVT-06 revoking many ends their tokens and emits an event for each', async () => {
    const { body } = await world.control('POST', '/installations/revoke', { all: true });
    expect(body.ids).toHaveLength(6);
    expect(names()).toEqual(Array.from({ length: 6 }, () => 'installation.revoked'));
    for (const { token } of world.ready.companies)
      expect((await world.get('/investments', { token })).status).toBe(401);
    expect(await installs('?status=active')).toMatchObject({ count: 2 });
  });

  test('INST-20 a reinstall revokes and installs under a new id; the old one stays revoked', async () => {
    const [company] = world.ready.companies;
    const { body } = await world.control('POST', '/installations/reinstall', {
      ids: [company?.installation],
    });
    expect(body.installations).toEqual([
      { id: body.ids[0], company: company?.id, replaces: company?.installation },
    ]);
    expect(names()).toEqual(['installation.revoked', 'installation.created']);
    const refused = await world.post(`/installations/${company?.installation}/tokens`, { token: manager() });
    expect(refused.status).toBe(409);
    const listed = await installs(`?company=${company?.id}`);
    expect(listed.data.map(({ status }: { status: string }) => status)).toEqual(['revoked', 'active']);
  });

  test('a revoked installation can be installed again, without a second event of its revocation', async () => {
    const [company] = world.ready.companies;
    await world.control('POST', '/installations/revoke', { ids: [company?.installation] });
    await world.control('POST', '/installations/reinstall', { ids: [company?.installation] });
    expect(names()).toEqual(['installation.revoked', 'installation.created']);
  });

  test('an unknown installation is a 404, and nothing was revoked', async () => {
    const known = world.ready.companies[0]?.installation;
    const answer = await world.control('POST', '/installations/revoke', { ids: [known, 'inst_none'] });
    expect(answer.status).toBe(404);
    expect(names()).toEqual([]);
    expect((await installs('?status=revoked')).count).toBe(0);
  });

  test('the list shows how many tokens an installation has, never a token', async () => {
    const { data, count } = await installs();
    expect(count).toBe(data.length);
    expect(data[0]).toMatchObject({ company: world.ready.companies[0]?.id, status: 'active', tokens: 2 });
    expect(JSON.stringify(data)).not.toContain('at_test_');
    expect((await world.control('GET', '/installations?status=gone')).status).toBe(400);
    expect((await world.control('GET', '/installations?realm=moon')).status).toBe(400);
  });
});

test('DELIV-10 an app-wide endpoint gets one delivery for each install of a bulk call', async () => {
  const receiver = await startReceiver();
  onTestFinished(() => receiver.close());
  await world.control('POST', '/webhooks', { url: receiver.url, events: ['installation.created'] });
  const { body } = await world.control('POST', '/installations', { all: true });
  await receiver.count(4);
  const told = receiver.received.map((delivery) => delivery.envelope.installation.id);
  expect(told.sort()).toEqual([...body.ids].sort());
});
