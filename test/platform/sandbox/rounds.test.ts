import { afterEach, beforeEach, expect, test } from 'vitest';
import type { PlatformEvent } from '../../../src/platform/events.js';
import { run } from '../../../src/platform/state/statements.js';
import { company, type RunningPlatform, startNewlySeeded } from '../../conformance/running-platform.js';

let world: RunningPlatform;
beforeEach(async () => {
  world = await startNewlySeeded();
});
afterEach(() => world.close());

const heardBy = (running: RunningPlatform) => {
  const heard: PlatformEvent[] = [];
  running.services.events.subscribe((event) => heard.push(event));
  return heard;
};
const read = async (path: string) => {
  const { status, body } = await world.send('GET', path, {
    headers: { authorization: `Bearer ${company(world).token}` },
  });
  return { status, attributes: body.data?.attributes, data: body.data };
};

test('the control API opens a round, changes it and closes it, each with its event', async () => {
  const heard = heardBy(world);
  const opened = await world.control('POST', '/offerings', {
    company: company(world).id,
    security: 'equity',
    targetCents: 5_000_000,
  });
  const [id] = opened.body.ids as [string];
  expect(heard.map(({ name }) => name)).toEqual(['offering.opened']);
  expect((await read(`/offerings/${id}`)).attributes).toMatchObject({
    status: 'open',
    security: { type: 'equity' },
    funding_target_cents: 5_000_000,
  });
  await world.control('PATCH', `/offerings/${id}`, { targetCents: 7_000_000, closesAt: null });
  expect((await read(`/offerings/${id}`)).attributes.funding_target_cents).toBe(7_000_000);
  expect(heard).toHaveLength(1);
  await world.control('PATCH', `/offerings/${id}`, { status: 'closed' });
  expect(heard.map(({ name }) => name)).toEqual(['offering.opened', 'offering.closed']);
  expect((await world.control('PATCH', `/offerings/${id}`, { status: 'open' })).status).toBe(409);
});

test('a private round is hidden from the public catalog, and its stats are not', async () => {
  const [id] = (await world.control('POST', '/offerings', { company: company(world).id, private: true })).body
    .ids as [string];
  expect((await read(`/offerings/${id}`)).status).toBe(404);
  expect((await read(`/offerings/${id}/stats`)).status).toBe(200);
  await world.control('PATCH', `/offerings/${id}`, { private: false });
  expect((await read(`/offerings/${id}`)).status).toBe(200);
});

test('a round that takes reservations has the intended security', async () => {
  const [id] = (
    await world.control('POST', '/offerings', {
      company: company(world).id,
      reservations: true,
      security: 'debt',
    })
  ).body.ids as [string];
  expect((await read(`/offerings/${id}`)).attributes).toMatchObject({
    security: null,
    intended_security: { type: 'debt' },
    testing_the_waters: true,
  });
});

test('the control API renames and hides a company', async () => {
  const { id } = company(world);
  await world.control('PATCH', `/companies/${id}`, { name: 'Tidal Labs' });
  expect((await read(`/companies/${id}`)).attributes.name).toBe('Tidal Labs');
  await world.control('PATCH', `/companies/${id}`, { hidden: true });
  expect((await read(`/companies/${id}`)).status).toBe(404);
});

test('COMP-37 the control API posts an update in the name of a founder and withdraws it', async () => {
  const { id } = company(world);
  const titles = async () =>
    ((await read(`/companies/${id}/updates`)).data as { attributes: { title: string } }[]).map(
      ({ attributes }) => attributes.title,
    );
  const before = await titles();
  const [post] = (await world.control('POST', `/companies/${id}/updates`, { title: 'Hello' })).body.ids as [
    string,
  ];
  expect(await titles()).toEqual(expect.arrayContaining([...before, 'Hello']));
  const founder = world.ready.users.find((person) => person.id === company(world).founder);
  const author = (await read(`/companies/${id}/updates/${post}`)).attributes.author;
  expect(author).toEqual({ name: founder?.name ?? 'nobody' });
  await world.control('DELETE', `/updates/${post}`);
  expect(await titles()).toEqual(before);
  expect((await world.control('DELETE', `/updates/${post}`)).status).toBe(404);
});

test('CAT-08 CAMP-02 a round that is oversubscribed or closing stays an open round in the catalog and among the campaigns', async () => {
  const { id, offering } = company(world);
  for (const status of ['oversubscribed', 'closing']) {
    run(world.services.state, 'UPDATE offerings SET status = ? WHERE id = ?', [status, offering]);
    expect((await read(`/offerings/${offering}`)).attributes?.status).toBe('open');
    const campaigns: { id: string; attributes: unknown }[] = (await read('/campaigns')).data;
    expect(campaigns.find((one) => one.id === offering)?.attributes).toMatchObject({ state: 'active' });
    const { service_rounds } = (await read(`/companies/${id}`)).attributes;
    expect(service_rounds).toContainEqual(expect.objectContaining({ offering_id: offering, status: 'open' }));
  }
});
