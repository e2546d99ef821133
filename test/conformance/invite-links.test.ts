import { afterEach, beforeEach, expect, test } from 'vitest';
import {
  bulkInviteLinks,
  createInviteLink,
  getInviteLink,
  listInviteLinks,
} from '../../src/platform/contract/invite-links.js';
import { Visitor } from './credentials.js';
import { narrowToken, otherApp } from './installs.js';
import { type Answered, company, type RunningPlatform, startPlatform, user } from './running-platform.js';

let world: RunningPlatform;
let token: string;
let path: string;
beforeEach(async () => {
  world = await startPlatform({ limits: false });
  token = company(world).token;
  path = `/offerings/${company(world).offerings[1]}/invite_links`;
});
afterEach(() => world.close());

const create = (link: object, sending: object = {}) =>
  world.post(path, { token, body: { invite_link: link }, ...sending });
const read = async (id: string) => (await world.get(`${path}/${id}`, { token })).body.data.attributes;
const errorOf = ({ status, body }: Answered): [number, string] => [status, body.error?.type];
const linkOf = (answer: Answered): string => new URL(answer.body.data.attributes.url).pathname;

async function invest(link: string, email: string): Promise<Answered> {
  const visitor = new Visitor(world);
  await visitor.signIn(link, email);
  const started = await visitor.answer(link, { action: 'start' });
  const checkout = started.headers.get('location');
  if (checkout === null) return started;
  await visitor.answer(checkout, { action: 'identity', document: 'AB12345' });
  await visitor.answer(checkout, { action: 'fund', amount: '500', card: '4242424242424242' });
  return visitor.answer(checkout, { action: 'complete' });
}

test('SCOPE-18 SCOPE-19 a personal invite link goes from pending to opened to invested', async () => {
  const made = await create({
    email: 'ida@people.example',
    allocation_cents: 70_000,
    first_name: 'Ida',
    message: '<hi>',
  });
  expect(made.status).toBe(201);
  createInviteLink.responses[201].schema.parse(made.body);
  const { id, attributes } = made.body.data;
  expect([id.slice(0, 3), attributes.url.includes(id.slice(3))]).toEqual(['il_', false]);
  expect(attributes).toMatchObject({
    status: 'pending',
    active: true,
    email: 'ida@people.example',
    uses_count: 0,
  });
  const page = await new Visitor(world).open(linkOf(made));
  expect(page.body).toContain('&lt;hi&gt;');
  expect((await read(id)).status).toBe('opened');
  await invest(linkOf(made), 'ida@people.example');
  const answer = await world.get(`${path}/${id}`, { token });
  getInviteLink.responses[200].schema.parse(answer.body);
  expect(answer.body.data.attributes).toMatchObject({ status: 'invested', active: false, uses_count: 1 });
  expect(answer.body.data.attributes.events.map(({ event }: { event: string }) => event)).toEqual([
    'created',
    'sent',
    'opened',
    'invested',
  ]);
  const record = await world.get(`/investments/${answer.body.data.attributes.investment_id}`, { token });
  expect(record.body.data.amounts.committed_cents).toBe(70_000);
  expect((await new Visitor(world).open(linkOf(made))).status).toBe(410);
});

test('SCOPE-18 a personal invite link works for its recipient only, by account or by email', async () => {
  for (const wish of [{ service_user_id: user(world, 4).id }, { email: 'IDA@people.example' }]) {
    const made = await create(wish);
    const { id } = made.body.data;
    expect((await world.send('HEAD', linkOf(made))).status).toBe(200);
    expect((await read(id)).status).toBe('pending');
    expect((await invest(linkOf(made), 'ivan@people.example')).status).toBe(403);
    expect(await read(id)).toMatchObject({ status: 'opened', uses_count: 0 });
    expect((await invest(linkOf(made), 'ida@people.example')).status).toBeLessThan(400);
    expect(await read(id)).toMatchObject({ status: 'invested', uses_count: 1 });
  }
});

test('SEC-13 SCOPE-18 an invite by account never reveals the email address of the account', async () => {
  const made = await create({ service_user_id: user(world, 4).id });
  expect(made.body.data.attributes).toMatchObject({ email: null, service_user_id: user(world, 4).id });
  const { id } = made.body.data;
  const answers = [
    made,
    await world.get(`${path}/${id}`, { token }),
    await world.get(path, { token }),
    await world.post(`${path}/${id}/resend`, { token }),
    await world.patch(`${path}/${id}`, { token, body: { invite_link: { allocation_cents: 100 } } }),
    await world.delete(`${path}/${id}`, { token }),
  ];
  for (const answer of answers) {
    expect(answer.status).toBeLessThan(300);
    expect(JSON.stringify(answer.body)).not.toContain('ida@people.example');
  }
  expect(errorOf(await create({ service_user_id: 'usr_no' }))).toEqual([404, 'not_found']);
});

test('SCOPE-18 a reusable invite link stops at its maximum, also under concurrent use', async () => {
  const made = await create({ max_uses: 2, allocation_cents: 10_000 });
  const { id } = made.body.data;
  expect(made.body.data.attributes).not.toHaveProperty('email');
  await invest(linkOf(made), 'ida@people.example');
  const slow = new Visitor(world);
  await slow.signIn(linkOf(made), 'ivan@people.example');
  await slow.answer(linkOf(made), { action: 'start' });
  expect((await invest(linkOf(made), 'owner@people.example')).status).toBe(409);
  expect(await read(id)).toMatchObject({ uses_count: 1, active: true });
  const low = await world.patch(`${path}/${id}`, { token, body: { invite_link: { max_uses: 0 } } });
  expect(low.status).toBe(422);
  await invest(linkOf(made), 'ivan@people.example');
  expect(await read(id)).toMatchObject({ uses_count: 2, active: false });
  const under = await world.patch(`${path}/${id}`, { token, body: { invite_link: { max_uses: 1 } } });
  expect(errorOf(under)).toEqual([422, 'validation_error']);
  const more = await world.patch(`${path}/${id}`, { token, body: { invite_link: { max_uses: 3 } } });
  expect(more.body.data.attributes).toMatchObject({ max_uses: 3, active: true, allocation_cents: 10_000 });
  expect((await invest(linkOf(made), 'owner@people.example')).status).toBe(303);
});

test.each([
  ['two recipients', { email: 'a@b.example', service_user_id: 'usr_1' }],
  ['uses of a personal link', { email: 'a@b.example', max_uses: 2 }],
  ['a message without a recipient', { message: 'hello' }],
  ['an amount that is not in whole currency units', { allocation_cents: 101 }],
])('SCOPE-19 creating an invite link with %s returns 422', async (_name, link) => {
  expect(errorOf(await create(link))).toEqual([422, 'validation_error']);
});

test('SCOPE-19 creating invite links in bulk returns 207 with a result for each item', async () => {
  const items = [
    { email: 'a@mail.example' },
    { email: 'a@mail.example', service_user_id: 'usr_1' },
    { allocation_cents: 100 },
    { service_user_id: 'usr_no' },
    'nonsense',
    { service_user_id: user(world, 4).id },
  ];
  const headers = { 'idempotency-key': 'b1' };
  const answer = await world.post(`${path}/bulk`, { token, headers, body: { invite_links: items } });
  expect(answer.status).toBe(207);
  bulkInviteLinks.responses[207].schema.parse(answer.body);
  expect(answer.body.meta).toMatchObject({ created: 2, failed: 4 });
  expect(answer.body.errors.map(({ index, type }: { index: number; type: string }) => [index, type])).toEqual(
    [
      [1, 'mutually_exclusive_params'],
      [2, 'validation_error'],
      [3, 'not_found'],
      [4, 'validation_error'],
    ],
  );
  const again = await world.post(`${path}/bulk`, { token, headers, body: { invite_links: items } });
  expect([again.status, again.body]).toEqual([207, answer.body]);
  expect((await world.get(path, { token })).body.data).toHaveLength(2);
  const many = Array.from({ length: 101 }, () => ({ email: 'a@mail.example' }));
  expect((await world.post(`${path}/bulk`, { token, body: { invite_links: many } })).status).toBe(422);
});

test('SCOPE-19 canceling an invite link is idempotent and final, and a canceled or declined one cannot be sent again', async () => {
  const made = await create({ email: 'ida@people.example' });
  const { id } = made.body.data;
  const resent = await world.post(`${path}/${id}/resend`, { token });
  expect(resent.body.data.attributes.events.at(-1).event).toBe('resend');
  const visitor = new Visitor(world);
  await visitor.signIn(linkOf(made), 'ida@people.example');
  await visitor.answer(linkOf(made), { action: 'decline' });
  expect(errorOf(await world.post(`${path}/${id}/resend`, { token }))).toEqual([422, 'unprocessable_entity']);
  const canceled = await world.delete(`${path}/${id}`, { token });
  expect(canceled.body.data.attributes).toMatchObject({ active: false, status: 'revoked' });
  expect((await world.delete(`${path}/${id}`, { token })).body.data).toEqual(canceled.body.data);
  expect((await visitor.open(linkOf(made))).status).toBe(410);
  const shared = (await create({})).body.data.id;
  expect((await world.post(`${path}/${shared}/resend`, { token })).status).toBe(422);
});

test('SCOPE-18 invite links require the scopes, access to the offering and the application that created them', async () => {
  const { id } = (await create({ email: 'ida@people.example' })).body.data;
  const reader = narrowToken(world, company(world).installation, ['read:invite_links']);
  expect((await world.get(path, { token: reader })).status).toBe(200);
  for (const answer of [
    await create({}, { token: reader }),
    await world.post(`${path}/bulk`, { token: reader }),
    await world.patch(`${path}/${id}`, { token: reader }),
    await world.delete(`${path}/${id}`, { token: reader }),
    await world.post(`${path}/${id}/resend`, { token: reader }),
    await world.get(path, { token: narrowToken(world, company(world).installation, ['read:companies']) }),
  ]) {
    expect(errorOf(answer)).toEqual([403, 'insufficient_scope']);
  }
  expect(errorOf(await world.get(path, { token: company(world, 1).token }))).toEqual([403, 'forbidden']);
  const other = otherApp(world, { type: 'company', id: company(world).id }, ['write:invite_links']);
  expect(errorOf(await world.get(`${path}/${id}`, { token: other.token }))).toEqual([404, 'not_found']);
  const list = await world.get(path, { token: other.token });
  listInviteLinks.responses[200].schema.parse(list.body);
  expect(list.body.data).toEqual([]);
});

test('an invited address without an account gets one; another person cannot use the link', async () => {
  const made = await create({ email: 'new@mail.example', first_name: 'Nina', last_name: 'New' });
  expect((await invest(linkOf(made), 'ida@people.example')).status).toBe(403);
  expect((await invest(linkOf(made), 'New@mail.example')).status).toBe(303);
  expect((await read(made.body.data.id)).status).toBe('invested');
});
