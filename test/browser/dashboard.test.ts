import { readFileSync } from 'node:fs';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { companyName, person, type RunningConsole, startConsole } from '../console/running-console.js';
import { launchBrowser } from './browser.js';
import { eachLook, type Look, open, pages } from './dashboard-pages.js';
import { picture } from './picture.js';
import { Windows } from './windows.js';

let browser: Browser;
let world: RunningConsole;

beforeAll(async () => {
  world = await startConsole();
  browser = await launchBrowser();
});
afterAll(async () => {
  await browser?.close();
  await world.close();
});

const visit = (look?: Look) => open(browser, look);
const overflow = (page: Page) => page.evaluate<number>('document.documentElement.scrollWidth - innerWidth');
const pwned = (page: Page) => page.evaluate<unknown>('window.pwned');
const focused = (page: Page) =>
  page.evaluate<string>('(document.activeElement.textContent || document.activeElement.name || "").trim()');

const phones = new Windows(() => open(browser, { width: 320 }));

/** Each page is opened once, some at a time, and looked at in every way. */
test.concurrent.for(Object.entries(pages))(
  'the dashboard page "%s" fits phone, tablet and desktop, light and dark, and runs no script from the data',
  ([name, path], { expect }) =>
    phones.use(async ({ page, complaints }) => {
      const answer = await page.goto(world.url + path);
      expect(answer?.status()).toBe(200);
      if (name.endsWith('company')) await page.locator('.plot canvas').first().waitFor();
      for await (const { width, dark } of eachLook(page)) {
        expect([width, await overflow(page), await pwned(page)]).toEqual([width, 0, undefined]);
        await picture(page, `${name}-${width}${dark ? '-dark' : ''}`);
      }
      expect(complaints).toEqual([]);
    }),
);

test('the dashboard draws charts in a browser without a language, as on a Linux without a locale', async () => {
  const { context, page, complaints } = await visit();
  await page.addInitScript(
    "Object.defineProperty(Navigator.prototype, 'language', { get: () => 'en-US@posix', configurable: true })",
  );
  await page.goto(world.url + pages.company);
  await page.locator('.plot canvas').first().waitFor();
  expect(complaints).toEqual([]);
  await context.close();
});

test('the legend of a chart shows the amount of the table beside it, with all its digits', async () => {
  const { context, page, complaints } = await visit();
  // As a number with hundredths, this amount is a cent larger.
  const amount = '$70,368,744,177,664.01';
  await page.route(`**${pages.company}`, async (route) => {
    const response = await route.fetch();
    const body = (await response.text()).replace(/data-chart="line".*?<\/table>/s, (chart) =>
      chart.replaceAll(
        /data-value="[\d.]+">\$[\d,.]+</g,
        `data-value="70368744177664.01">${amount.replace('$', '$$$$')}<`,
      ),
    );
    await route.fulfill({ response, body });
  });
  await page.goto(world.url + pages.company);
  const chart = page.locator('[data-chart="line"]').first();
  await chart.locator('.u-over').hover();
  const legend = chart.locator('.readout:not(:empty)');
  await legend.waitFor();
  expect(await legend.textContent()).toMatch(/^\d{4}-\d{2}-\d{2} · Raised so far \$70,368,744,177,664\.01$/);
  expect(complaints).toEqual([]);
  await context.close();
});

test('Clear ends a name search, the back button restores it, and a second tab never shows it', async () => {
  const { context, page, complaints } = await visit();
  await page.goto(`${world.url}/roster`);
  await page.getByRole('button', { name: 'Show for 15 minutes' }).click();
  await page.getByLabel('Find', { exact: true }).fill('lovelace');
  await page.keyboard.press('Enter');
  await page.getByText('3 investments', { exact: true }).waitFor();
  expect(decodeURIComponent(page.url())).not.toMatch(/lovelace/i);
  await page.getByLabel('Source').selectOption('acme');
  await page.getByRole('button', { name: 'Filter' }).click();
  await page.waitForURL(/source=acme/);
  await page.getByText('3 investments', { exact: true }).waitFor();

  const tab = await context.newPage();
  await tab.goto(`${world.url}/roster?source=acme`);
  await tab.getByText('123 investments', { exact: true }).waitFor();

  await page.getByRole('link', { name: 'Clear' }).click();
  await page.getByText('124 investments', { exact: true }).waitFor();
  expect(await page.getByLabel('Find', { exact: true }).inputValue()).toBe('');
  const [file] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('button', { name: 'CSV' }).click(),
  ]);
  expect(
    readFileSync(await file.path(), 'utf8')
      .trimEnd()
      .split('\r\n'),
  ).toHaveLength(125);
  await page.goBack();
  await page.getByText('3 investments', { exact: true }).waitFor();
  expect(await page.getByLabel('Find', { exact: true }).inputValue()).toBe('lovelace');
  expect(complaints).toEqual([]);
  await context.close();
});

test('the dashboard works with the keyboard alone: skip, filter, open a record, show the person, run SQL', async () => {
  const { context, page, complaints } = await visit();
  await page.goto(`${world.url}/roster`);
  await page.keyboard.press('Tab');
  expect(await focused(page)).toBe('Skip to the content');
  await page.keyboard.press('Enter');
  expect(await page.evaluate('document.activeElement.id')).toBe('main');

  await tabTo(page, 'find');
  await page.keyboard.type('inv_ada');
  await page.keyboard.press('Enter');
  await page.waitForURL(/id=inv_ada/);
  await tabTo(page, 'inv_ada');
  const outline = await page.evaluate('getComputedStyle(document.activeElement).outlineStyle');
  expect(outline).toBe('solid');
  await page.keyboard.press('Enter');
  await page.waitForURL(/records/);
  expect(await page.textContent('main')).not.toContain(person);
  await tabTo(page, 'Show for 15 minutes');
  await page.keyboard.press('Enter');
  await page.getByText(person).waitFor();
  await tabTo(page, 'Mask again');
  await page.keyboard.press('Enter');
  await page.getByText('No personal data was read.').waitFor();

  await page.goto(`${world.url}/sql`);
  await page.getByRole('textbox', { name: 'SQL statement' }).waitFor();
  await tabTo(page, 'sql');
  await page.keyboard.press('Control+A');
  await page.keyboard.type(
    "SELECT status, count(*) AS investments FROM investments WHERE source = 'acme' GROUP BY status",
  );
  await page.keyboard.press('Control+Enter');
  await page.locator('#result svg.bar').first().waitFor();
  // Tab leaves the box, so the keyboard is not trapped in it.
  await page.getByRole('textbox', { name: 'SQL statement' }).focus();
  await page.keyboard.press('Tab');
  expect(await focused(page)).toBe('Run');
  await picture(page, 'result-1280');
  expect(complaints).toEqual([]);
  await context.close();
});

/** Presses Tab until the focused element has that id or text. Throws if the focus never gets there. */
async function tabTo(page: Page, wanted: string): Promise<void> {
  for (let press = 0; press < 60; press += 1) {
    await page.keyboard.press('Tab');
    const here = await page.evaluate<string>(
      'document.activeElement.id + "\\n" + document.activeElement.textContent.trim()',
    );
    if (here.split('\n').includes(wanted)) return;
  }
  throw new Error(`no way to ${wanted} with the keyboard`);
}

test('a date chosen on the SQL page becomes part of its address, and the statement is kept', async () => {
  const { context, page, complaints } = await visit();
  // The browser reports a changed address a moment later.
  const search = () => new URL(page.url()).search;
  await page.goto(`${world.url}/sql`);
  await page.getByRole('textbox', { name: 'SQL statement' }).focus();
  await page.keyboard.press('Control+A');
  await page.keyboard.insertText("SELECT status FROM investments WHERE id = 'inv_ada'");
  await page.getByLabel('As of').fill('2026-10-15');
  await expect.poll(search).toBe('?as-of=2026-10-15');
  await page.getByRole('button', { name: 'Run' }).click();
  await page.getByText('As of 2026-10-15 23:59:59 UTC.').waitFor();
  // The page has its scripts when it has its editor.
  await page.getByRole('textbox', { name: 'SQL statement' }).waitFor();
  expect(await page.locator('#result').textContent()).toContain('reserved');
  await expect.poll(search).toBe('?as-of=2026-10-15');
  await page.getByLabel('As of').fill('');
  await page.getByRole('button', { name: 'Run' }).click();
  await page.locator('#result').getByText('active').first().waitFor();
  await expect.poll(search).toBe('');
  expect(complaints).toEqual([]);
  await context.close();
});

test('the open page of operations updates itself and keeps the focus', async () => {
  const { context, page, complaints } = await visit();
  await page.goto(`${world.url}/operations`);
  await page.getByText('Live', { exact: true }).waitFor();
  await page.locator('#sources a').first().focus();
  world.database.raw.prepare("UPDATE sources SET rows_held = 31337 WHERE name = 'acme'").run();
  world.tick();
  await page.getByText('31,337').waitFor();
  expect(await page.evaluate('document.activeElement.textContent')).toBe('acme');
  expect([await pwned(page), complaints]).toEqual([undefined, []]);
  await context.close();
});

test('an open overview shows a new amount, in its order and with its buttons, and drops a section that is over', async () => {
  const { context, page, complaints } = await visit({ zone: 'Asia/Tokyo' });
  await page.goto(world.url);
  await page.getByText('Live', { exact: true }).waitFor();
  expect(await page.locator('#attention').count()).toBe(1);
  const card = page.locator('article.card', { hasText: companyName }).first();
  const change = (cents: number) =>
    world.database.raw
      .prepare("UPDATE investment_rows SET raised_cents = ? WHERE id = 'inv_euro'")
      .run(cents);
  change(123_456);
  world.tick();
  await card.getByText('€1,234.56').first().waitFor();
  expect(await card.locator('.copy').count()).toBe(1);
  change(50_000);
  await page.evaluate(`document.getElementById('attention').remove();
    document.getElementById('live').insertAdjacentHTML('beforeend', '<section id="over"></section>')`);
  world.tick();
  await card.getByText('€500.00').first().waitFor();
  expect(await page.evaluate("[...document.getElementById('live').children].map(({ id }) => id)")).toEqual([
    ...['attention', 'all', 'companies', 'changes'],
  ]);
  expect(complaints).toEqual([]);
  await context.close();
});

test('without script the dashboard shows everything, including the numbers of charts', async () => {
  const { context, page }: { context: BrowserContext; page: Page } = await visit({ script: false });
  await page.goto(`${world.url}/companies/acme/co_1`);
  expect(await page.getByRole('cell', { name: '$4,390.00' }).first().isVisible()).toBe(true);
  expect(await page.locator('.plot').first().isVisible()).toBe(false);
  await page.goto(`${world.url}/operations`);
  expect(await page.getByText('Needs a person').isVisible()).toBe(true);
  await context.close();
});

test('a page of another origin cannot do what a dashboard page can', async () => {
  const { context, page } = await visit();
  await page.goto(`${world.url}/roster`);
  // The policy blocks injected scripts and styles, and requests to other origins.
  const refused = await page.evaluate<string[]>(`new Promise((resolve) => {
    const seen = [];
    document.addEventListener('securitypolicyviolation', ({ effectiveDirective }) => {
      seen.push(effectiveDirective);
      if (seen.length === 3) resolve(seen.sort());
    });
    const script = document.createElement('script');
    script.textContent = 'window.pwned = 1';
    document.body.append(script);
    document.body.insertAdjacentHTML('beforeend', '<p style="color: red">x</p>');
    fetch('http://127.0.0.1:1/').catch(() => {});
  })`);
  expect(refused).toEqual(['connect-src', 'script-src-elem', 'style-src-attr']);
  expect(await pwned(page)).toBeUndefined();
  await context.close();
});
