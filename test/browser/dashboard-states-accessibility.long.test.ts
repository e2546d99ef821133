import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, test } from 'vitest';
import { type RunningConsole, startConsole } from '../console/running-console.js';
import { check } from './accessibility.js';
import { launchBrowser } from './browser.js';
import { open } from './dashboard-pages.js';
import { Windows } from './windows.js';

let browser: Browser;
let world: RunningConsole;
let locked: RunningConsole;

beforeAll(async () => {
  world = await startConsole({ rows: 12 });
  locked = await startConsole({
    rows: 0,
    auth: {
      tokens: [{ name: 'ida', role: 'operator', secret: async () => 'a-token-of-decent-length' }],
      basic: null,
      proxy: null,
    },
  });
  browser = await launchBrowser();
});
afterAll(async () => {
  await browser?.close();
  await world.close();
  await locked.close();
});

const statement = "SELECT status, count(*) AS n FROM investments WHERE source = 'acme' GROUP BY status";

async function write(page: Page, sql: string): Promise<void> {
  await page.getByRole('textbox', { name: 'SQL statement' }).focus();
  await page.keyboard.press('ControlOrMeta+A');
  await page.keyboard.insertText(sql);
}

/** Ways to what a person gets by doing something. */
const ways: Readonly<Record<string, (page: Page) => Promise<unknown>>> = {
  'a result': async (page) => {
    await page.goto(`${world.url}/sql`);
    await write(page, statement);
    await page.getByRole('button', { name: 'Run' }).click();
    await page.locator('#result').waitFor();
  },
  'a refused statement': async (page) => {
    await page.goto(`${world.url}/sql`);
    await write(page, 'SELECT raised_cent FROM investments');
    await page.getByRole('button', { name: 'Run' }).click();
    await page.getByRole('alert').waitFor();
  },
  'shown names': async (page) => {
    await page.goto(`${world.url}/roster`);
    await page.getByRole('button', { name: 'Show for 15 minutes' }).click();
    await page.getByRole('button', { name: 'Mask again' }).waitFor();
  },
  'the sign-in': (page) => page.goto(locked.url),
  'a wrong token': async (page) => {
    await page.goto(locked.url);
    await page.getByLabel('Token').fill('wrong');
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByText('Wrong token.').waitFor();
  },
};

const windows = new Windows(() => open(browser));

test.concurrent.for(Object.keys(ways))(
  'an automated check of "%s" finds nothing, wide, dark and narrow; headings and tables are in order; nothing moves',
  (name, { expect }) =>
    windows.use(async ({ page }) => {
      await ways[name]?.(page);
      await check(page, expect);
    }),
);
