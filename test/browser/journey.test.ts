import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startDaemon } from '../../src/daemon/daemon.js';
import { systemClock } from '../../src/runtime/clock.js';
import { authorizePath, exchange, makeClient, type TestClient } from '../conformance/credentials.js';
import { company, type RunningPlatform, startPlatform } from '../conformance/running-platform.js';
import { configFor, freshFolder, partsFor, readerOf, webhookTick } from '../daemon/daemon-fixture.js';
import { freePort } from '../support/free-port.js';
import { launchBrowser } from './browser.js';
import { heading, press, tidy, visit } from './looks.js';

let browser: Browser;
let world: RunningPlatform;
let partner: Server;
let callback: string;
let app: TestClient;
/** Installed with read and write scopes. The token comes with the install and is shown once. */
const scopes = ['read:investments', 'read:companies', 'read:investors:pii', 'write:investment_sessions'];

beforeAll(async () => {
  // Both parts use the system clock, as two processes would: signatures contain the time.
  world = await startPlatform({ clock: systemClock, limits: false, records: 24 });
  partner = createServer((_request, response) => response.end('back at the application'));
  await new Promise<void>((resolve) => partner.listen(0, '127.0.0.1', resolve));
  callback = `http://127.0.0.1:${(partner.address() as AddressInfo).port}/callback`;
  app = makeClient(world, {
    name: 'Nordic Ledger',
    redirectUris: [callback],
    scopes: [...scopes, 'write:installations', 'write:syndicates'],
    piiApproved: true,
  });
  browser = await launchBrowser();
});
afterAll(async () => {
  await browser?.close();
  await world.close();
  await new Promise((resolve) => partner.close(resolve));
});

/** Signs in and allows the application's request. Returns the access token from the code exchange. */
async function allow(person: string, scope: string, picture: string | null): Promise<string> {
  let arrived: URL | undefined;
  await visit(browser, {}, async (page) => {
    await page.goto(world.url + authorizePath(app, { scope, state: 'journey' }));
    if (picture !== null) await tidy(page, `${picture}-sign-in`);
    await page.getByLabel('Email address').fill(person);
    await press(page, 'Continue');
    if (picture !== null) await tidy(page, `${picture}-consent`);
    await press(page, 'Allow');
    await page.waitForURL(`${callback}?**`);
    arrived = new URL(page.url());
  });
  expect(arrived?.searchParams.get('state')).toBe('journey');
  const tokens = await exchange(world, app, arrived?.searchParams.get('code') ?? '');
  expect(tokens.status).toBe(200);
  return tokens.body.access_token;
}

test('the platform and the daemon go from sign-in to a mirror row: consent, install, session, checkout, webhook', async () => {
  const { id, offerings } = company(world);
  const person = await allow('founder1@people.example', 'write:installations', 'journey');
  const installed = await world.post('/installations', {
    token: person,
    body: { target_type: 'company', target_id: id, scopes },
  });
  expect(installed.status).toBe(201);
  const installation = installed.body.data.id as string;
  const token = installed.body.token.access_token as string;

  const port = await freePort();
  const hook = await world.control('POST', '/webhooks', {
    url: `http://127.0.0.1:${port}/webhooks`,
    events: ['investment.changed'],
    installation,
  });
  const connected = { ...world.ready, companies: [{ ...company(world), installation, token }] };
  const config = configFor(
    { ready: connected },
    { folder: freshFolder(), receiver: { port, secret: hook.body.secret } },
  );
  const daemon = await startDaemon(partsFor(config));
  try {
    await daemon.engine.sync.idle();
    const mirror = readerOf(config);
    const held = mirror.prepare<
      [string],
      { name: string; committed: number; status: string; offering: string }
    >(
      `SELECT name, committed_cents AS committed, status, offering_id AS offering FROM roster WHERE email = ?`,
    );
    expect(mirror.prepare('SELECT count(*) FROM investments').pluck().get()).toBeGreaterThan(20);
    expect(held.all('nina@mail.example')).toEqual([]);

    const created = await world.post(`/offerings/${offerings[1]}/investment_sessions`, {
      token,
      body: { investment_session: { email: 'nina@mail.example' } },
    });
    expect(created.status).toBe(201);
    const session = created.body.data;
    const arrived = webhookTick(daemon);
    await visit(browser, {}, async (page) => {
      await page.goto(session.attributes.url);
      await tidy(page, 'journey-checkout-1-who');
      await page.getByLabel('Email address').fill('nina@mail.example');
      await press(page, 'Continue');
      await tidy(page, 'journey-checkout-2-account');
      await page.getByLabel('Full name').fill('Nina Newcomer');
      await press(page, 'Make my account');
      await tidy(page, 'journey-checkout-3-identity');
      await page.getByLabel('Number of your passport').fill('X1234567');
      await press(page, 'Check my identity');
      await tidy(page, 'journey-checkout-4-payment');
      await page.getByLabel('Amount in USD').fill('2,500');
      await page.getByLabel('Card number').fill('4242 4242 4242 4242');
      await press(page, 'Pay');
      await tidy(page, 'journey-checkout-5-confirm');
      await press(page, 'Invest');
      expect(await heading(page)).toBe('Done');
      await tidy(page, 'journey-checkout-6-done');
    });
    await arrived;

    const done = (await world.get(`/investment_sessions/${session.id}`, { token })).body.data.attributes;
    expect(done).toMatchObject({ status: 'completed', investment_id: expect.stringMatching(/^invt?_/) });
    expect(held.all('nina@mail.example')).toEqual([
      { name: 'Nina Newcomer', committed: 250_000, status: 'active', offering: offerings[1] },
    ]);
    await expect
      .poll(() => mirror.prepare('SELECT DISTINCT state, event FROM webhook_inbox').all())
      .toEqual([{ state: 'worked', event: 'investment.changed' }]);
    await visit(browser, {}, async (page) => {
      await page.goto(`${world.url}/portal`);
      await tidy(page, 'journey-portal-1-who');
      await page.getByRole('button', { name: 'Olga Owner' }).click();
      await tidy(page, 'journey-portal-2-applications');
      await page.getByRole('link', { name: 'Nordic Ledger' }).click();
      await page.locator('summary').first().click();
      await tidy(page, 'journey-portal-3-deliveries');
      expect(await page.getByText('delivered').count()).toBeGreaterThan(0);
      expect(await page.getByRole('cell', { name: '202' }).count()).toBeGreaterThan(0);
    });
  } finally {
    await daemon.close();
  }
});

test('a member whose removal an application proposed stays until a person approves it', async () => {
  const syndicate = world.ready.syndicates[0]?.id ?? '';
  const person = await allow('founder1@people.example', 'write:installations write:syndicates', null);
  const installed = await world.post('/installations', {
    token: person,
    body: { target_type: 'syndicate', target_id: syndicate, scopes: ['write:syndicates'] },
  });
  expect(installed.status).toBe(201);
  const token = installed.body.token.access_token as string;
  const members = async (): Promise<readonly string[]> => {
    const answer = await world.get(`/syndicates/${syndicate}/members?role=member&per_page=100`, { token });
    return answer.body.data.map((member: { id: string }) => member.id);
  };
  const leaving = (await members()).at(-1) ?? '';
  const direct = await world.delete(`/syndicates/${syndicate}/members/${leaving}`, { token });
  expect([direct.status, direct.body.error.type]).toEqual([422, 'use_intents']);

  const proposed = await world.post('/intents', {
    token,
    body: {
      action: 'syndicates.remove_member',
      resource_id: syndicate,
      params: { member_id: leaving },
      idempotency_key: 'journey',
    },
  });
  expect(proposed.status).toBe(201);
  expect(await members()).toContain(leaving);
  await visit(browser, {}, async (page) => {
    await page.goto(proposed.body.data.attributes.review_url);
    await tidy(page, 'journey-review-1-who');
    await page.getByLabel('Email address').fill('founder1@people.example');
    await press(page, 'Continue');
    expect(await heading(page)).toContain('asks you to approve');
    await tidy(page, 'journey-review-2-read');
    await press(page, 'Approve');
    expect(await heading(page)).toBe('Done');
    await tidy(page, 'journey-review-3-done');
  });
  expect(await members()).not.toContain(leaving);
  const intent = await world.get(`/intents/${proposed.body.data.id}`, { token });
  expect(intent.body.data.attributes.status).toBe('executed');
});
