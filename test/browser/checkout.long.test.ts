import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { company, type RunningPlatform, startPlatform } from '../conformance/running-platform.js';
import { launchBrowser } from './browser.js';
import { press, tidy, visit } from './looks.js';

let browser: Browser;
let world: RunningPlatform;

beforeAll(async () => {
  world = await startPlatform({ limits: false, records: 24 });
  browser = await launchBrowser();
});
afterAll(async () => {
  await browser?.close();
  await world.close();
});

describe.each([320, 1280])('pages in a browser %i px wide', (width) => {
  test('a person goes from a session link to an investment, through a declined card and a failed identity check', async () => {
    const { token, offerings } = company(world);
    const created = await world.post(`/offerings/${offerings[1]}/investment_sessions`, {
      token,
      body: { investment_session: { email: `new${width}@mail.example` } },
    });
    const { id, attributes } = created.body.data;
    await visit(browser, { width }, async (page) => {
      await page.goto(attributes.url);
      await tidy(page, 'checkout-who', [width]);
      await page.getByLabel('Email address').fill(`new${width}@mail.example`);
      await press(page, 'Continue');
      await page.getByLabel('Full name').fill('Nina <New> Newcomer');
      await press(page, 'Make my account');
      await page.getByLabel('Number of your passport').fill('000000000');
      await press(page, 'Check my identity');
      expect(await page.getByRole('alert').textContent()).toContain('could not confirm');
      await tidy(page, 'checkout-identity', [width]);
      await page.getByLabel('Number of your passport').fill('X1234567');
      await press(page, 'Check my identity');
      await page.getByLabel('Amount in USD').fill('2,500');
      await page.getByLabel('Card number').fill('4000 0000 0000 0002');
      await press(page, 'Pay');
      expect(await page.getByRole('alert').textContent()).toContain('declined');
      await tidy(page, 'checkout-payment', [width]);
      await page.getByLabel('Amount in USD').fill('2,500');
      await page.getByLabel('Card number').fill('4242 4242 4242 4242');
      await press(page, 'Pay');
      expect(await page.locator('.amount').textContent()).toBe('$2,500');
      await tidy(page, 'checkout-confirm', [width]);
      await press(page, 'Invest');
      expect(await page.getByRole('heading', { level: 1 }).textContent()).toBe('Done');
      await tidy(page, 'checkout-done', [width]);
    });
    const read = await world.get(`/investment_sessions/${id}`, { token });
    expect(read.body.data.attributes.status).toBe('completed');
  });

  test('a person follows an invite link and visits the portal', async () => {
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
    await visit(browser, { width }, async (page) => {
      await page.goto(made.body.data.attributes.url);
      await page.getByLabel('Email address').fill('ida@people.example');
      await press(page, 'Continue');
      await tidy(page, 'invited', [width]);
      await press(page, 'Continue');
      expect(await page.locator('.amount').textContent()).toBe('$500');
      await page.goto(`${world.url}/portal`);
      await press(page, 'Not you?');
      await press(page, 'Olga Owner');
      await tidy(page, 'portal', [width]);
      await page.getByRole('link', { name: 'Roster Mirror' }).click();
      await tidy(page, 'portal-application', [width]);
      expect(await page.getByRole('heading', { name: 'Webhook endpoints' }).count()).toBe(1);
    });
  });
});
