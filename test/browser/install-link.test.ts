import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { type RunningPlatform, startPlatform } from '../conformance/running-platform.js';
import { type Receiver, startReceiver } from '../platform/webhooks/receiver.js';
import { launchBrowser } from './browser.js';
import { tidy, visit } from './looks.js';

let browser: Browser;
let world: RunningPlatform;
let partner: Server;
let receiver: Receiver;
let setup: string;
const arrived: URL[] = [];

beforeAll(async () => {
  world = await startPlatform({ limits: false, companies: 3, records: 2, installed: 0.4 });
  partner = createServer((request, response) => {
    arrived.push(new URL(request.url ?? '/', 'http://partner.invalid'));
    response.end('back at the application');
  });
  await new Promise<void>((resolve) => partner.listen(0, '127.0.0.1', resolve));
  setup = `http://127.0.0.1:${(partner.address() as AddressInfo).port}/setup`;
  receiver = await startReceiver();
  const events = ['installation.created', 'installation.revoked'];
  await world.control('POST', '/webhooks', { url: receiver.url, events });
  await world.control('PATCH', `/applications/${world.ready.apps[0]?.clientId}`, { setupUrl: setup });
  browser = await launchBrowser();
});
afterAll(async () => {
  await browser?.close();
  await world.close();
  await receiver.close();
  await new Promise((resolve) => partner.close(resolve));
});
beforeEach(() => {
  arrived.length = 0;
});

const link = () => `${world.url}/install/${world.ready.apps[0]?.clientId}?state=st_1`;
const founderOf = (company: { readonly founder: string } | undefined) =>
  world.ready.users.find(({ id }) => id === company?.founder)?.email ?? '';

test('INST-22 a founder opens the install link, signs in, cancels and returns with access_denied', async () => {
  const [company] = world.ready.uninstalled;
  const before = receiver.received.length;
  await visit(browser, { width: 320 }, async (page) => {
    await page.goto(link());
    await tidy(page, 'install-sign-in');
    await page.getByLabel('Email address').fill(founderOf(company));
    await page.getByRole('button', { name: 'Continue' }).click();
    await page.getByRole('button', { name: `Install on ${company?.name}` }).waitFor();
    await tidy(page, 'install-ask');
    await page.getByRole('button', { name: 'Cancel' }).click();
    await page.waitForURL(`${setup}?**`);
  });
  expect(arrived.map(({ searchParams }) => Object.fromEntries(searchParams))).toEqual([
    { error: 'access_denied', state: 'st_1' },
  ]);
  expect(receiver.received).toHaveLength(before);
});

test('INST-21 EVT-05 a founder installs, returns with the id and the state, and the application gets the event and reads', async () => {
  const [, company] = world.ready.uninstalled;
  await visit(browser, { width: 1280, dark: true }, async (page) => {
    await page.goto(link());
    await page.getByLabel('Email address').fill(founderOf(company));
    await page.getByRole('button', { name: 'Continue' }).click();
    await page.getByRole('button', { name: `Install on ${company?.name}` }).click();
    await page.waitForURL(`${setup}?**`);
  });
  const [came] = arrived;
  const id = came?.searchParams.get('installation_id') ?? '';
  expect([came?.searchParams.get('state'), came?.searchParams.get('error')]).toEqual(['st_1', null]);
  await receiver.count(1);
  expect(receiver.received[0]?.envelope).toMatchObject({ event: 'installation.created', data: { id } });
  const token = world.ready.users[0]?.token ?? '';
  const minted = await world.post(`/installations/${id}/tokens`, { token });
  const read = await world.get(`/investments?company_id=${company?.id}`, {
    token: minted.body.token.access_token,
  });
  expect([minted.status, read.status]).toEqual([201, 200]);
});
