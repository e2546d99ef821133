import { afterEach, beforeEach, expect, test } from 'vitest';
import type { PlatformEvent } from '../../src/platform/events.js';
import { run } from '../../src/platform/state/statements.js';
import { location, makeCompany, userNo, Visitor } from './credentials.js';
import { type RunningPlatform, startPlatform } from './running-platform.js';

let world: RunningPlatform;
let events: PlatformEvent[];
const setup = 'https://partner.example/setup?from=platform';
beforeEach(async () => {
  world = await startPlatform({ limits: false, installed: 0.5, companies: 4, records: 1 });
  events = [];
  world.services.events.subscribe((event) => events.push(event));
  await world.control('PATCH', `/applications/${app().clientId}`, { setupUrl: setup });
});
afterEach(() => world.close());

function app() {
  const [first] = world.ready.apps;
  if (first === undefined) throw new Error('the world has no application');
  return first;
}
const link = (query = '?state=x%20y%26z', clientId = app().clientId) => `/install/${clientId}${query}`;
const founderOf = (company: { readonly founder: string } | undefined) =>
  world.ready.users.find(({ id }) => id === company?.founder)?.email ?? '';

async function signedIn(email: string, path = link()): Promise<Visitor> {
  const visitor = new Visitor(world);
  await visitor.signIn(path, email);
  return visitor;
}
const manager = () => ({ token: world.ready.users[0]?.token ?? '' });

test('INST-21 a founder installs, and the browser goes to the setup URL with the id and the state', async () => {
  const [company] = world.ready.uninstalled;
  const visitor = await signedIn(founderOf(company));
  const to = location(await visitor.answer(link(), { action: `install ${company?.id}` }));
  const id = to.searchParams.get('installation_id');
  expect(to.href).toBe(`${setup}&installation_id=${id}&state=x+y%26z`);
  const { body } = await world.get(`/installations/${id}`, manager());
  expect(body.data.attributes).toMatchObject({
    target: { type: 'company', id: company?.id },
    tier: 'founder',
    status: 'active',
  });
  expect(events.map(({ name }) => name)).toEqual(['installation.created']);
});

test('INST-22 a founder who cancels goes to the setup URL with access_denied, and nothing is installed', async () => {
  const [company] = world.ready.uninstalled;
  const visitor = await signedIn(founderOf(company));
  const to = location(await visitor.answer(link(), { action: 'cancel' }));
  expect(Object.fromEntries(to.searchParams)).toEqual({
    from: 'platform',
    error: 'access_denied',
    state: 'x y&z',
  });
  expect(events).toEqual([]);
});

test('INST-23 the page offers what the person manages and has not installed, and no other company', async () => {
  const [free, other] = world.ready.uninstalled;
  const [installed] = world.ready.companies;
  run(
    world.services.state,
    `INSERT INTO company_members (company_no, user_no, tier, can_edit) SELECT no, ?, 'founder', 1 FROM companies WHERE id = ?`,
    [userNo(world, founderOf(free)), installed?.id ?? ''],
  );
  const visitor = await signedIn(founderOf(free));
  const page = String((await visitor.open(link())).body);
  expect(page).toContain(`Install on ${free?.name}`);
  expect(page).toContain(`Installed already on ${installed?.name}`);
  expect(page).not.toContain(`Install on ${installed?.name}`);
  expect(page).not.toContain(other?.name);
  for (const id of [other?.id, installed?.id, 'co_none']) {
    const answer = await visitor.answer(link(), { action: `install ${id}` });
    expect(answer.status).toBe(400);
  }
  expect(events).toEqual([]);
});

test('INST-07 INST-23 an editor installs read scopes only, and the link narrows them', async () => {
  const company = makeCompany(world, { ida: ['editor'] });
  const narrow = link('?scope=read:investments%20write:webhooks%20read:nonsense');
  const visitor = await signedIn('ida@people.example', narrow);
  const page = String((await visitor.open(narrow)).body);
  expect([page.includes('read:investments'), page.includes('write:webhooks')]).toEqual([true, false]);
  const to = location(await visitor.answer(narrow, { action: `install ${company.id}` }));
  expect(to.searchParams.get('state')).toBeNull();
  const { body } = await world.get(`/installations/${to.searchParams.get('installation_id')}`, manager());
  expect(body.data.attributes).toMatchObject({ tier: 'editor', scopes: ['read:investments'] });
});

test('INST-10 an install link with no grantable scope installs nothing', async () => {
  const [company] = world.ready.uninstalled;
  const path = link('?scope=read:nonsense');
  const visitor = await signedIn(founderOf(company), path);
  const answer = await visitor.answer(path, { action: `install ${company?.id}` });
  expect(answer.status).toBe(422);
  expect(events).toEqual([]);
});

test('INST-11 the live link of an unreviewed application works only for people who manage it', async () => {
  const { live } = world.ready.live.unreviewed;
  const path = link('', live.clientId);
  const visitor = await signedIn(founderOf(world.ready.live.companies[0]), path);
  const answer = await visitor.open(path);
  expect([answer.status, String(answer.body).includes('has not been reviewed yet')]).toEqual([403, true]);
});

test('the install link of an unknown, a disabled or a suspended application shows a page and redirects nowhere', async () => {
  const visitor = new Visitor(world);
  expect((await visitor.open(link('', 'pk_test_none'))).status).toBe(404);
  await world.control('PATCH', `/applications/${app().clientId}`, { suspended: true });
  const answer = await visitor.open(link());
  expect([answer.status, answer.headers.get('location')]).toEqual([403, null]);
});

test('INST-21 without a setup URL, a page says that the application is installed', async () => {
  const [company] = world.ready.uninstalled;
  await world.control('PATCH', `/applications/${app().clientId}`, { setupUrl: null });
  const visitor = await signedIn(founderOf(company));
  const canceled = await visitor.answer(link(), { action: 'cancel' });
  expect([canceled.status, String(canceled.body).includes('Nothing was installed')]).toEqual([200, true]);
  const answer = await visitor.answer(link(), { action: `install ${company?.id}` });
  expect([answer.status, String(answer.body).includes('<h1>Installed</h1>')]).toEqual([200, true]);
});

test('a form from another site installs nothing', async () => {
  const [company] = world.ready.uninstalled;
  const visitor = await signedIn(founderOf(company));
  const forged = await visitor.submit(link(), { action: `install ${company?.id}`, csrf: 'guessed' });
  expect(forged.status).toBe(403);
  expect(events).toEqual([]);
});
