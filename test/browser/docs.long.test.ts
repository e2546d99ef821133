import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type RunningPlatform, startPlatform } from '../conformance/running-platform.js';
import { declaredOperations } from '../tools/api-description.js';
import { launchBrowser } from './browser.js';
import { picture } from './picture.js';

let browser: Browser;
let world: RunningPlatform;

beforeAll(async () => {
  world = await startPlatform({ limits: false });
  browser = await launchBrowser();
});
afterAll(async () => {
  await browser?.close();
  await world.close();
});

async function open(width: number, dark = false): Promise<{ page: Page; complaints: string[] }> {
  const context = await browser.newContext({
    viewport: { width, height: 900 },
    javaScriptEnabled: true,
    colorScheme: dark ? 'dark' : 'light',
  });
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on('console', (message) => complaints.push(message.text()));
  page.on('pageerror', (error) => complaints.push(error.message));
  const answer = await page.goto(`${world.url}/docs`);
  expect(answer?.status()).toBe(200);
  return { page, complaints };
}

test.each([
  [320, false],
  [1280, false],
  [1280, true],
])('the API description page fits %i px (dark: %s), folded and unfolded', async (width, dark) => {
  const { page, complaints } = await open(width, dark);
  const overflow = () => page.evaluate<number>('document.documentElement.scrollWidth - innerWidth');
  expect(await overflow()).toBe(0);
  await picture(page, `docs-${width}${dark ? '-dark' : ''}`);
  await page.locator('#listInvestments > summary').click();
  await page.locator('#listInvestments .example > summary').first().click();
  await page.locator('#createWebhookEndpoint > summary').click();
  expect(await overflow()).toBe(0);
  await picture(page.locator('#listInvestments'), `docs-operation-${width}${dark ? '-dark' : ''}`);
  await picture(page.locator('#createWebhookEndpoint'), `docs-body-${width}${dark ? '-dark' : ''}`);
  await picture(page.locator('table'), `docs-errors-${width}${dark ? '-dark' : ''}`);
  await page.evaluate(`document.querySelectorAll('details').forEach((part) => { part.open = true; })`);
  expect(await overflow()).toBe(0);
  expect(complaints).toEqual([]);
  await page.context().close();
});

test('a link to an operation unfolds it', async () => {
  const { page } = await open(1280);
  await page.locator('#getInvestment > summary').click();
  await page.locator('#getInvestment a[href="#schema-Investment"]').first().click();
  await expect.poll(() => page.locator('#schema-Investment').isVisible()).toBe(true);
  await page.context().close();
});

test('the API description page lists every operation, and runs and loads nothing from it', async () => {
  const answer = await world.get('/docs');
  for (const { id, path } of declaredOperations()) {
    expect(answer.body).toContain(`id="${id}"`);
    expect(answer.body).toContain(path);
  }
  expect(answer.headers.get('content-security-policy')).toMatch(
    /^default-src 'none'; style-src 'sha256-[^']+'; form-action/,
  );
  expect(answer.body).not.toMatch(/<script|<img|<link|https?:\/\/(?!partner\.example)[a-z]/);
});
