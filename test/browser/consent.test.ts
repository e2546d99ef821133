import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { authorizePath, exchange, makeClient, type TestClient } from '../conformance/credentials.js';
import { startWorld, type TestWorld } from '../conformance/world.js';
import { launchBrowser } from './browser.js';

let browser: Browser;
let world: TestWorld;
let partner: Server;
let callback: string;
let client: TestClient;
const arrived: URL[] = [];
/** Kept when a folder is named, so that a person can look at them. */
const kept = process.env.ROSTERD_TEST_SCREENSHOTS;
const shots = kept ?? mkdtempSync(join(tmpdir(), 'consent-'));

beforeAll(async () => {
  world = await startWorld({ limits: false });
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
  if (kept === undefined) rmSync(shots, { recursive: true, force: true });
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

interface Look {
  readonly width: number;
  readonly dark?: boolean;
}

/** Without script: what works here works in every browser. */
async function visit(look: Look, run: (page: Page) => Promise<void>): Promise<void> {
  const context = await browser.newContext({
    javaScriptEnabled: false,
    viewport: { width: look.width, height: 800 },
    colorScheme: look.dark === true ? 'dark' : 'light',
  });
  try {
    const page = await context.newPage();
    const complaints: string[] = [];
    // A refused page is a failed load to the console; what is meant is a violated policy or broken markup.
    page.on('console', (message) => {
      if (!message.text().startsWith('Failed to load resource')) complaints.push(message.text());
    });
    await run(page);
    expect(complaints).toEqual([]);
  } finally {
    await context.close();
  }
}

async function tidy(page: Page, name: string, look: Look): Promise<void> {
  const file = `${name}-${look.width}${look.dark === true ? '-dark' : ''}.png`;
  await page.screenshot({ path: join(shots, file), fullPage: true });
  const box = await page.locator('main').boundingBox();
  expect(box?.x).toBeGreaterThanOrEqual(0);
  expect((box?.x ?? 0) + (box?.width ?? 0)).toBeLessThanOrEqual(look.width);
  for (const button of await page.locator('button:not(.link)').all()) {
    const size = await button.boundingBox();
    expect(size?.height).toBeGreaterThanOrEqual(44);
  }
}

describe.each<Look>([{ width: 320 }, { width: 1280 }, { width: 1280, dark: true }])(
  'a person at the consent page, $width wide, dark: $dark',
  (look) => {
    test('signs in from the list, reads what is asked, allows it, and is back with a code that works', async () => {
      await visit(look, async (page) => {
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

    test('mistypes an address, corrects it, turns out to be somebody else, and denies', async () => {
      await visit(look, async (page) => {
        await page.goto(link());
        await page.getByLabel('Email address').fill('nobody@people.example');
        await page.getByRole('button', { name: 'Continue' }).click();
        expect(await page.getByRole('alert').textContent()).toBe('Nobody here has this address.');
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

test('the keyboard alone is enough, and the one style that applies is ours', async () => {
  await visit({ width: 1280 }, async (page) => {
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

test('another site cannot frame the page, and an injected script does not run', async () => {
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

test('a refusal is a page of its own', async () => {
  for (const width of [320, 1280]) {
    await visit({ width }, async (page) => {
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
  await visit({ width: 320 }, async (page) => {
    await page.goto(world.url + authorizePath(live));
    expect(await page.locator('button.row').count()).toBe(0);
    await page.getByLabel('Email address').fill('ida@people.example');
    await page.getByRole('button', { name: 'Continue' }).click();
    await tidy(page, 'not-reviewed', { width: 320 });
    expect(await page.getByRole('heading').textContent()).toBe('Unreviewed has not been reviewed yet');
  });
});
