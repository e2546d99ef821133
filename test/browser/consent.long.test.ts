import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { authorizePath, exchange, makeClient, type TestClient } from '../conformance/credentials.js';
import { type RunningPlatform, startPlatform } from '../conformance/running-platform.js';
import { launchBrowser } from './browser.js';
import { tidy as tidyAt, visit } from './looks.js';

let browser: Browser;
let world: RunningPlatform;
let partner: Server;
let callback: string;
let client: TestClient;
const arrived: URL[] = [];

beforeAll(async () => {
  world = await startPlatform({ limits: false });
  partner = createServer((request, response) => {
    arrived.push(new URL(request.url ?? '/', 'http://partner.invalid'));
    response.end('back at the application');
  });
  await new Promise<void>((resolve) => partner.listen(0, '127.0.0.1', resolve));
  callback = `http://127.0.0.1:${(partner.address() as AddressInfo).port}/callback`;
  client = makeClient(world, {
    name: 'Nordic Ledger & Sons <Reporting>',
    redirectUris: [callback],
    scopes: ['read:profile', 'read:investments', 'read:companies', 'write:webhooks', 'read:investors:pii'],
    piiApproved: true,
  });
  browser = await launchBrowser();
});
afterAll(async () => {
  await browser?.close();
  await world.close();
  await new Promise((resolve) => partner.close(resolve));
});
beforeEach(() => {
  arrived.length = 0;
});

const link = () =>
  world.url +
  authorizePath(client, {
    scope: 'read:profile read:investments write:webhooks read:investors:pii',
    state: 'x y&z',
  });

/** The screenshot of a dark page has its own name. */
const tidy = (page: Page, name: string, look: Look): Promise<void> =>
  tidyAt(page, look.dark === true ? `${name}-dark` : name, [look.width]);

interface Look {
  readonly width: number;
  readonly dark?: boolean;
}

describe.each<Look>([{ width: 320 }, { width: 1280, dark: true }])(
  'a person at the consent page, $width wide, dark: $dark',
  (look) => {
    test('a person signs in from the list, reviews the request, allows it and returns with a working code', async () => {
      await visit(browser, look, async (page) => {
        await page.goto(link());
        expect(await page.title()).toBe('Sign in · Nordic Ledger & Sons <Reporting>');
        await tidy(page, 'sign-in', look);
        await page.getByRole('button', { name: 'Ida Investor' }).click();
        expect(await page.getByRole('heading', { level: 1 }).textContent()).toContain('<Reporting>');
        expect(await page.getByRole('listitem').count()).toBe(4);
        await tidy(page, 'consent', look);
        await page.getByRole('button', { name: 'Allow' }).click();
        await page.waitForURL(`${callback}?**`);
      });
      expect(arrived).toHaveLength(1);
      expect(arrived[0]?.searchParams.get('state')).toBe('x y&z');
      const answer = await exchange(world, client, arrived[0]?.searchParams.get('code') ?? '');
      expect(answer.body.scope).toContain('read:investors:pii');
    });

    test('a person mistypes an address, corrects it, signs in as another person and denies', async () => {
      await visit(browser, look, async (page) => {
        await page.goto(link());
        await page.getByLabel('Email address').fill('nobody@people.example');
        await page.getByRole('button', { name: 'Continue' }).click();
        expect(await page.getByRole('alert').textContent()).toBe('No account has this email address.');
        await tidy(page, 'sign-in-unknown', look);
        await page.getByLabel('Email address').fill('ivan@people.example');
        await page.getByRole('button', { name: 'Continue' }).click();
        await page.getByRole('button', { name: 'Not you?' }).click();
        await page.getByRole('button', { name: 'Ida Investor' }).click();
        await page.getByRole('button', { name: 'Deny' }).click();
        await page.waitForURL(`${callback}?**`);
      });
      expect(Object.fromEntries(arrived[0]?.searchParams ?? [])).toEqual({
        error: 'access_denied',
        state: 'x y&z',
      });
    });
  },
);

test('the consent page works with the keyboard alone, and only our own style applies', async () => {
  await visit(browser, { width: 1280 }, async (page) => {
    await page.goto(link());
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: 'Allow' }).waitFor();
    const corner = await page.evaluate<string>(
      `getComputedStyle(document.querySelector('main')).borderTopLeftRadius`,
    );
    expect(corner).toBe('14px');
  });
});

test('another site cannot frame the consent page, and an injected script does not run', async () => {
  const context = await browser.newContext();
  const page = await context.newPage();
  await page.route('http://evil.example/', (route) =>
    route.fulfill({
      contentType: 'text/html',
      body: `<iframe src="${link().replaceAll('&', '&amp;')}"></iframe>`,
    }),
  );
  await page.goto('http://evil.example/');
  const frame = page.frames()[1];
  expect(await frame?.locator('main').count()).toBe(0);
  await page.goto(link());
  await page.evaluate(`{
    const script = document.createElement('script');
    script.textContent = 'document.title = "taken over"';
    document.body.append(script);
  }`);
  expect(await page.title()).toContain('Sign in');
  await context.close();
});

test('a refused authorization shows its own error page', async () => {
  for (const width of [320, 1280]) {
    await visit(browser, { width }, async (page) => {
      const answer = await page.goto(
        link().replace(encodeURIComponent(callback), 'https%3A%2F%2Fevil.example'),
      );
      expect(answer?.status()).toBe(400);
      await tidy(page, 'refused', { width });
      expect(await page.getByRole('heading').textContent()).toBe('Address not registered');
      expect(await page.getByRole('link').count()).toBe(0);
    });
  }
  const live = makeClient(world, {
    name: 'Unreviewed',
    realm: 'live',
    approved: false,
    redirectUris: [callback],
  });
  await visit(browser, { width: 320 }, async (page) => {
    await page.goto(world.url + authorizePath(live));
    expect(await page.locator('button.row').count()).toBe(0);
    await page.getByLabel('Email address').fill('ida@people.example');
    await page.getByRole('button', { name: 'Continue' }).click();
    await tidy(page, 'not-reviewed', { width: 320 });
    expect(await page.getByRole('heading').textContent()).toBe('Unreviewed has not been reviewed yet');
  });
});
