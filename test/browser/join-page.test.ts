import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type RunningPlatform, startPlatform } from '../conformance/running-platform.js';
import { foundSyndicate, makePerson } from '../conformance/syndicate-life.js';
import { launchBrowser } from './browser.js';
import { heading, tidy, visit } from './looks.js';

let browser: Browser;
let world: RunningPlatform;
let partner: Server;
let home: string;

beforeAll(async () => {
  world = await startPlatform({ limits: false });
  partner = createServer((_request, response) => response.end('back at the application'));
  await new Promise<void>((resolve) => partner.listen(0, '127.0.0.1', resolve));
  home = `http://127.0.0.1:${(partner.address() as AddressInfo).port}`;
  browser = await launchBrowser();
});
afterAll(async () => {
  await browser?.close();
  await world.close();
  await new Promise((resolve) => partner.close(resolve));
});

test('JOIN-01 a person without script, on a narrow screen, signs in, joins and returns to the application', async () => {
  const syndicate = foundSyndicate(world);
  syndicate.set({
    name: 'A_Syndicate_With_A_Name_That_Has_No_Place_To_Break_And_Goes_On',
    tagline: 'Together.',
  });
  const person = makePerson(world, 'Paula');
  const session = await world.post(`${syndicate.path}/join_sessions`, {
    token: syndicate.installationToken,
    body: { join_session: { email: person.email, success_url: `${home}/done` } },
  });
  await visit(browser, { width: 320 }, async (page) => {
    await page.goto(session.body.data.attributes.url);
    await page.getByLabel('Email address').fill(person.email);
    await page.getByRole('button', { name: 'Continue' }).click();
    await page.getByRole('button', { name: 'Join' }).waitFor();
    await tidy(page, 'join-ask');
    await page.getByRole('button', { name: 'Join' }).click();
    await page.waitForURL(`${home}/**`);
    expect(new URL(page.url()).searchParams.get('join_session')).toBe(session.body.data.id);
    await page.goto(session.body.data.attributes.url);
    expect(await heading(page)).toBe('Your application is in');
    await tidy(page, 'join-waiting');
    await page.getByRole('button', { name: 'Withdraw the application' }).click();
    await page.getByRole('heading', { name: 'You are not a member' }).waitFor();
  });
});
