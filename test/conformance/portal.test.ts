import { afterEach, beforeEach, expect, test } from 'vitest';
import { one, run } from '../../src/platform/state/statements.js';
import { type Receiver, startReceiver } from '../platform/webhooks/receiver.js';
import { csrfOf, userNo, Visitor } from './credentials.js';
import { company, type RunningPlatform, startPlatform } from './running-platform.js';

let world: RunningPlatform;
let receiver: Receiver;
beforeEach(async () => {
  world = await startPlatform({ limits: false });
  receiver = await startReceiver();
});
afterEach(async () => {
  await world.close();
  await receiver.close();
});

const appId = () =>
  one<{ id: string }>(world.services.state, 'SELECT id FROM applications ORDER BY no LIMIT 1')?.id ?? '';
const page = () => `/portal/applications/${appId()}`;

async function as(email: string): Promise<Visitor> {
  const visitor = new Visitor(world);
  await visitor.signIn('/portal', email);
  return visitor;
}

async function deliver(): Promise<string> {
  await world.control('POST', '/webhooks', { url: receiver.url, events: ['investment.changed'] });
  await world.control('POST', '/investments', { company: company(world).id });
  await expect
    .poll(async () => (await world.control('GET', '/deliveries')).body.data?.[0]?.attempts.length)
    .toBe(1);
  return (await world.control('GET', '/deliveries')).body.data[0].id;
}

test('SEC-04 the portal shows people of the organization its applications, keys without secrets, scopes and installs', async () => {
  const visitor = await as('owner@people.example');
  expect((await visitor.open('/portal')).body).toContain('Roster Mirror');
  const shown = String((await visitor.open(page())).body);
  const { clientId, clientSecret, live } = world.ready.apps[0] ?? {
    clientId: '',
    clientSecret: '',
    live: null,
  };
  for (const text of [
    clientId,
    live?.clientId ?? '',
    company(world).id,
    'read:investors:pii',
    company(world).installation,
  ]) {
    expect(shown).toContain(text);
  }
  expect(shown).not.toContain(clientSecret);
  expect(shown).not.toMatch(/sk_|at_test_|whsec_/);
  const stranger = await as('ida@people.example');
  expect((await stranger.open('/portal')).body).toContain('no organization');
  expect((await stranger.open(page())).status).toBe(404);
  expect((await new Visitor(world).open(page())).status).toBe(303);
});

test('the portal shows every delivery with its attempts and resends one', async () => {
  const id = await deliver();
  const visitor = await as('developer@people.example');
  const before = await visitor.open(page());
  expect(before.body).toContain('1 attempt<');
  await visitor.answer(page(), { action: 'resend', delivery: id });
  await expect.poll(() => receiver.received.length).toBe(2);
  await expect.poll(async () => String((await visitor.open(page())).body)).toContain('2 attempts');
});

test('the portal refuses a resend from a viewer, a stranger or a form without its token', async () => {
  const id = await deliver();
  run(
    world.services.state,
    `INSERT INTO organization_members (organization_no, user_no, role) VALUES (1, ?, 'viewer')`,
    [userNo(world, 'ida@people.example')],
  );
  const viewer = await as('ida@people.example');
  expect((await viewer.open(page())).body).not.toContain('Send again');
  const csrf = csrfOf(await viewer.open(page()));
  expect((await viewer.submit(page(), { csrf, action: 'resend', delivery: id })).status).toBe(403);
  const stranger = await as('ivan@people.example');
  const other = csrfOf(await stranger.open('/portal'));
  expect((await stranger.submit(page(), { csrf: other, action: 'resend', delivery: id })).status).toBe(404);
  const owner = await as('owner@people.example');
  expect((await owner.submit(page(), { action: 'resend', delivery: id })).status).toBe(403);
  expect((await owner.answer(page(), { action: 'resend', delivery: 'dlv_no' })).status).toBe(404);
  expect((await owner.answer(page(), { action: 'shine' })).status).toBe(400);
  expect(receiver.received).toHaveLength(1);
});

test('the portal shows a bound endpoint by a hint, lets only its installation resend, and marks a disabled one', async () => {
  const id = await deliver();
  const { state } = world.services;
  const owner = await as('owner@people.example');
  run(state, 'UPDATE webhook_endpoints SET enabled = 0');
  const disabled = await owner.answer(page(), { action: 'resend', delivery: id });
  expect([disabled.status, String(disabled.body)]).toEqual([409, expect.stringContaining('disabled')]);
  run(
    state,
    'UPDATE webhook_endpoints SET enabled = 1, installation_no = (SELECT min(no) FROM installations)',
  );
  const shown = await owner.open(page());
  expect(shown.body).not.toContain(receiver.url);
  expect((await owner.answer(page(), { action: 'resend', delivery: id })).status).toBe(403);
  expect(receiver.received).toHaveLength(1);
});

test('an owner can accept the attribution terms in the portal, a developer cannot', async () => {
  await world.control('PUT', '/attribution-terms', { accepted: false });
  const organization =
    one<{ id: string }>(world.services.state, 'SELECT id FROM organizations ORDER BY no')?.id ?? '';
  const developer = await as('developer@people.example');
  const fields = { action: 'accept_terms', organization };
  expect((await developer.answer('/portal', fields)).status).toBe(403);
  const owner = await as('owner@people.example');
  expect((await owner.open('/portal')).body).toContain('Accept the attribution terms');
  await owner.answer('/portal', fields);
  expect((await owner.open('/portal')).body).toContain('attribution terms accepted');
});
