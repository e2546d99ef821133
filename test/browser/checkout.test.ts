import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { one } from '../../src/platform/state/statements.js';
import { company, startWorld, type TestWorld } from '../conformance/world.js';
import { launchBrowser } from './browser.js';

let browser: Browser;
let world: TestWorld;
/** Kept when a folder is named, so that a person can look at them. */
const kept = process.env.ROSTERD_TEST_SCREENSHOTS;
const shots = kept ?? mkdtempSync(join(tmpdir(), 'checkout-'));

beforeAll(async () => {
  world = await startWorld({ limits: false, records: 24 });
  browser = await launchBrowser();
});
afterAll(async () => {
  await browser?.close();
  await world.close();
  if (kept === undefined) rmSync(shots, { recursive: true, force: true });
});

/** Without script: what works here works in every browser. */
async function visit(width: number, run: (page: Page) => Promise<void>): Promise<void> {
  const context = await browser.newContext({ javaScriptEnabled: false, viewport: { width, height: 800 } });
  try {
    const page = await context.newPage();
    const complaints: string[] = [];
    page.on('console', (message) => {
      if (!message.text().startsWith('Failed to load resource')) complaints.push(message.text());
    });
    await run(page);
    expect(complaints).toEqual([]);
  } finally {
    await context.close();
  }
}

/** Nothing sticks out, and every button can be hit. */
async function tidy(page: Page, name: string, width: number): Promise<void> {
  await page.screenshot({ path: join(shots, `${name}-${width}.png`), fullPage: true });
  const box = await page.locator('main').boundingBox();
  expect(box?.x).toBeGreaterThanOrEqual(0);
  expect((box?.x ?? 0) + (box?.width ?? 0)).toBeLessThanOrEqual(width);
  for (const button of await page.locator('button:not(.link):visible').all()) {
    expect((await button.boundingBox())?.height).toBeGreaterThanOrEqual(44);
  }
}

const press = (page: Page, name: string) => page.getByRole('button', { name }).click();

describe.each([320, 1280])('a person with a browser %i wide', (width) => {
  test('walks from the link of a session to an investment, past a refused card and a failed check', async () => {
    const { token, offerings } = company(world);
    const created = await world.post(`/offerings/${offerings[1]}/investment_sessions`, {
      token,
      body: { investment_session: { email: `new${width}@mail.example` } },
    });
    const { id, attributes } = created.body.data;
    await visit(width, async (page) => {
      await page.goto(attributes.url);
      await tidy(page, 'checkout-who', width);
      await page.getByLabel('Email address').fill(`new${width}@mail.example`);
      await press(page, 'Continue');
      await page.getByLabel('Full name').fill('Nina <New> Newcomer');
      await press(page, 'Make my account');
      await page.getByLabel('Number of your passport').fill('000000000');
      await press(page, 'Check my identity');
      expect(await page.getByRole('alert').textContent()).toContain('could not confirm');
      await tidy(page, 'checkout-identity', width);
      await page.getByLabel('Number of your passport').fill('X1234567');
      await press(page, 'Check my identity');
      await page.getByLabel('Amount in USD').fill('2,500');
      await page.getByLabel('Card number').fill('4000 0000 0000 0002');
      await press(page, 'Pay');
      expect(await page.getByRole('alert').textContent()).toContain('declined');
      await tidy(page, 'checkout-payment', width);
      await page.getByLabel('Amount in USD').fill('2,500');
      await page.getByLabel('Card number').fill('4242 4242 4242 4242');
      await press(page, 'Pay');
      expect(await page.locator('.amount').textContent()).toBe('$2,500');
      await tidy(page, 'checkout-confirm', width);
      await press(page, 'Invest');
      expect(await page.getByRole('heading', { level: 1 }).textContent()).toBe('Done');
      await tidy(page, 'checkout-done', width);
    });
    const read = await world.get(`/investment_sessions/${id}`, { token });
    expect(read.body.data.attributes.status).toBe('completed');
  });

  test('reads what an application proposes and approves it', async () => {
    const syndicate = world.ready.syndicates[0];
    const token = syndicate?.token ?? '';
    const member = one<{ id: string }>(
      world.services.state,
      `SELECT m.id FROM syndicate_members m JOIN syndicates s ON s.no = m.syndicate_no
       WHERE s.id = ? AND m.standing = 'member' AND m.user_no <> s.created_by_no ORDER BY m.no LIMIT 1`,
      [syndicate?.id ?? ''],
    );
    const proposed = await world.post('/intents', {
      token,
      body: {
        action: 'syndicates.remove_member',
        resource_id: syndicate?.id,
        params: { member_id: member?.id },
        idempotency_key: `browser ${width}`,
        requested_by_agent: 'Ledger Bot',
      },
    });
    expect(proposed.status).toBe(201);
    await visit(width, async (page) => {
      await page.goto(proposed.body.data.attributes.review_url);
      await page.getByLabel('Email address').fill('founder1@people.example');
      await press(page, 'Continue');
      expect(await page.getByRole('heading', { level: 1 }).textContent()).toContain('asks you to approve');
      await tidy(page, 'review', width);
      await press(page, 'Approve');
      expect(await page.getByRole('heading', { level: 1 }).textContent()).toBe('Done');
      await tidy(page, 'review-done', width);
    });
    const read = await world.get(`/intents/${proposed.body.data.id}`, { token });
    expect(read.body.data.attributes.status).toBe('executed');
  });

  test('follows an invite link, and looks around in the portal', async () => {
    const { token, offerings } = company(world);
    const made = await world.post(`/offerings/${offerings[1]}/invite_links`, {
      token,
      body: {
        invite_link: {
          email: 'ida@people.example',
          first_name: 'Ida',
          allocation_cents: 50_000,
          message: 'Join us.',
        },
      },
    });
    await visit(width, async (page) => {
      await page.goto(made.body.data.attributes.url);
      await page.getByLabel('Email address').fill('ida@people.example');
      await press(page, 'Continue');
      await tidy(page, 'invited', width);
      await press(page, 'Continue');
      expect(await page.locator('.amount').textContent()).toBe('$500');
      await page.goto(`${world.url}/portal`);
      await press(page, 'Not you?');
      await press(page, 'Olga Owner');
      await tidy(page, 'portal', width);
      await page.getByRole('link', { name: 'Roster Mirror' }).click();
      await tidy(page, 'portal-application', width);
      expect(await page.getByRole('heading', { name: 'Webhook endpoints' }).count()).toBe(1);
    });
  });
});
