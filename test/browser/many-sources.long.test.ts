import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type RunningConsole, startConsole } from '../console/running-console.js';
import { launchBrowser } from './browser.js';
import { eachLook, type Look, open, signIn } from './dashboard-pages.js';
import { picture } from './picture.js';

const many = 10_000;
const token = 'a-token-of-decent-length';
let browser: Browser;
let world: RunningConsole;

beforeAll(async () => {
  world = await startConsole({
    many,
    auth: {
      tokens: [{ name: 'ana', role: 'operator', secret: async () => token }],
      basic: null,
      proxy: null,
    },
  });
  browser = await launchBrowser();
});
afterAll(async () => {
  await browser?.close();
  await world?.close();
});

/** Opens a window of an operator. */
async function signedIn(look: Look = {}) {
  const visit = await open(browser, look);
  await signIn(visit.context, world, token);
  return visit;
}

const overflow = (page: Page) => page.evaluate<number>('document.documentElement.scrollWidth - innerWidth');
const rowsOf = (page: Page) => page.locator('main tbody tr');
const firstName = (page: Page) => rowsOf(page).first().locator('th').innerText();
const states = (page: Page) => page.getByRole('navigation', { name: 'States of sources' });

/** Moves the focus with the Tab key to the link or button with this text. */
async function tabTo(page: Page, text: RegExp): Promise<void> {
  for (let presses = 0; presses < 250; presses += 1) {
    await page.keyboard.press('Tab');
    const focused = await page.evaluate<string>(
      '(document.activeElement.textContent || document.activeElement.name || "").trim()',
    );
    if (text.test(focused)) return;
  }
  throw new Error(`no focus on ${text}`);
}

test('10,000 sources: states with counts, the worst first, found and paged by keyboard alone', async () => {
  const { context, page, complaints } = await signedIn();
  await page.goto(`${world.url}/sources`);
  await page.getByText('10,000 sources, page 1 of 200').waitFor();
  expect(await rowsOf(page).count()).toBe(50);
  expect(await firstName(page)).toBe('source-00001');
  expect(await states(page).getByRole('link').allTextContents()).toEqual([
    ...['All 10,000', 'Halted 100', 'Failing 100', 'Stale 100', 'Waiting 100', 'Paused 1', 'Fine 9,599'],
  ]);
  await picture(page, 'many-sources');

  await tabTo(page, /^Failing/);
  await page.keyboard.press('Enter');
  await page.getByText('100 of 10,000 sources, page 1 of 2').waitFor();
  expect(await states(page).locator('[aria-current=true]').textContent()).toBe('Failing 100');
  expect(await firstName(page)).toBe('source-00002');
  await tabTo(page, /^Next page$/);
  await page.keyboard.press('Enter');
  await page.getByText('page 2 of 2').waitFor();
  expect(await firstName(page)).toBe('source-05002');
  await page.getByText('End of the list.').waitFor();

  await page.getByRole('searchbox', { name: 'Find' }).focus();
  await page.keyboard.type('company number 4302');
  await page.keyboard.press('Enter');
  await page.getByText('1 of 10,000 sources').waitFor();
  expect(await firstName(page)).toBe('source-04302');
  await tabTo(page, /^source-04302$/);
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { level: 1, name: 'source-04302' }).waitFor();
  await page.getByText('The platform did not answer', { exact: false }).first().waitFor();
  expect(complaints).toEqual([]);
  await context.close();
});

test('10,000 sources: an operator pauses and resumes a source on its own page', async () => {
  const { context, page } = await signedIn();
  await page.goto(`${world.url}/sources/source-00010`);
  await page.getByRole('link', { name: 'Pause', exact: true }).click();
  await page.getByRole('heading', { name: 'Pause source-00010?' }).waitFor();
  await page.getByRole('button', { name: 'Pause' }).click();
  await page.getByRole('status').getByText('source-00010 is paused.', { exact: false }).waitFor();
  expect(new URL(page.url()).pathname).toBe('/sources/source-00010');
  await page.goto(`${world.url}/sources?state=paused`);
  expect(await rowsOf(page).locator('th').allInnerTexts()).toEqual(['source-00005', 'source-00010']);
  await page.getByRole('link', { name: 'source-00010' }).click();
  await page.getByRole('link', { name: 'Resume', exact: true }).click();
  await page.getByRole('button', { name: 'Resume' }).click();
  await page.getByText('source-00010 goes on within a second.').waitFor();
  await context.close();
});

const attention = ['100 sources', '100 sources', '100 sources', '1 source'];

/** Each page is opened once and looked at in every way: it takes the server much longer than the browser. */
test.each(['/', '/operations', '/actions', '/sources', '/sources?state=halted', '/sources/source-00001'])(
  '10,000 sources: %s is bounded and fits phone, tablet and desktop, light and dark',
  async (path) => {
    const { context, page, complaints } = await signedIn({ width: 320 });
    const answer = await page.goto(world.url + path);
    const bytes = (await answer?.body())?.length ?? 0;
    expect([answer?.status(), bytes < 200_000]).toEqual([200, true]);
    for await (const { width, dark } of eachLook(page)) {
      expect([width, await overflow(page)]).toEqual([width, 0]);
      await picture(page, `many${path.replaceAll(/\W+/g, '-')}-${width}${dark ? '-dark' : ''}`);
      if (path === '/operations') {
        expect(await page.locator('#sources article').count()).toBe(24);
        await page.getByRole('link', { name: 'All 10,000 sources' }).waitFor();
      }
      if (path === '/')
        expect(await page.locator('#attention').getByRole('link').allInnerTexts()).toEqual(attention);
    }
    expect(complaints).toEqual([]);
    await context.close();
  },
);

test('10,000 sources: /status.json, probes and metrics are bounded, and judge all sources', async () => {
  const get = (path: string) => fetch(world.url + path, { headers: { authorization: `Bearer ${token}` } });
  const status = (await (await get('/status.json')).json()) as { readonly sources: readonly unknown[] };
  expect(status).toMatchObject({
    truncated: true,
    health: 'attention',
    counts: { sources: many, readable: 9_900 },
  });
  expect(status.sources).toHaveLength(200);
  const ready = await get('/readyz');
  expect([ready.status, await ready.json()]).toEqual([503, { ready: false }]);
  const text = await (await get('/metrics')).text();
  expect(text.match(/^rosterd_records_visible\{/gm)).toHaveLength(200);
  expect(text).toContain('rosterd_sources{state="fine"} 9599\n');
  expect(text).toContain('rosterd_source_series 200\n');
  expect(text).toContain(`rosterd_records ${(many * (many + 1)) / 2}\n`);
  expect(text.length).toBeLessThan(500_000);
});
