import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { hostile, person, type RunningConsole, startConsole } from '../console/running-console.js';
import { launchBrowser } from './browser.js';

let browser: Browser;
let world: RunningConsole;
/** Screenshots are kept if a folder is named, so that a person can review them. */
const kept = process.env.ROSTERD_TEST_SCREENSHOTS;
const shots = kept ?? mkdtempSync(join(tmpdir(), 'dashboard-'));
const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

const hostileAddress = encodeURIComponent(hostile);
const pages = {
  overview: '/',
  companies: '/companies',
  company: '/companies/acme/co_1',
  roster: '/roster?source=acme',
  record: '/records/acme/inv_ada',
  sql: '/sql',
  'overview-then': '/?as-of=2026-10-15',
  'roster-then': '/roster?source=acme&as-of=2026-10-15',
  'sql-then': '/sql?as-of=2026-10-15',
  'hostile-company': `/companies/hostile/${hostileAddress}`,
  'hostile-roster': '/roster?source=hostile',
  'hostile-record': `/records/hostile/${hostileAddress}`,
} as const;

beforeAll(async () => {
  world = await startConsole();
  browser = await launchBrowser();
});
afterAll(async () => {
  await browser?.close();
  await world.close();
  if (kept === undefined) rmSync(shots, { recursive: true, force: true });
});

interface Look {
  readonly width?: number;
  readonly dark?: boolean;
  readonly script?: boolean;
}

/** Opens a new browser and collects its complaints, including violations of the content security policy. */
async function visit({ width = 1280, dark = false, script = true }: Look = {}) {
  const context = await browser.newContext({
    viewport: { width, height: 900 },
    colorScheme: dark ? 'dark' : 'light',
    reducedMotion: 'reduce',
    javaScriptEnabled: script,
    locale: 'en-US',
  });
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on('console', (message) => complaints.push(message.text()));
  page.on('pageerror', (error) => complaints.push(error.message));
  return { context, page, complaints };
}

const overflow = (page: Page) => page.evaluate<number>('document.documentElement.scrollWidth - innerWidth');
const pwned = (page: Page) => page.evaluate<unknown>('window.pwned');
const focused = (page: Page) =>
  page.evaluate<string>('(document.activeElement.textContent || document.activeElement.name || "").trim()');

test.each([
  [320, false],
  [768, true],
  [1280, false],
])(
  'every dashboard page fits %i px (dark: %s), renders and runs no script from the data',
  async (width, dark) => {
    const { context, page, complaints } = await visit({ width, dark });
    for (const [name, path] of Object.entries(pages)) {
      const answer = await page.goto(world.url + path);
      expect([name, answer?.status(), await overflow(page), await pwned(page)]).toEqual([
        name,
        200,
        0,
        undefined,
      ]);
      if (name.endsWith('company')) await page.locator('.plot canvas').first().waitFor();
      await page.screenshot({
        path: join(shots, `${name}-${width}${dark ? '-dark' : ''}.png`),
        fullPage: true,
      });
    }
    expect(complaints).toEqual([]);
    await context.close();
  },
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

test.each([
  ['light', '{ resultTypes: ["violations"] }'],
  // Only colours differ in dark mode.
  ['dark', '{ resultTypes: ["violations"], runOnly: ["color-contrast"] }'],
])('an automated accessibility check finds nothing serious in the %s', async (scheme, options) => {
  const { context, page } = await visit({ dark: scheme === 'dark' });
  for (const [name, path] of Object.entries(pages).filter(([name]) => !name.startsWith('hostile'))) {
    await page.goto(world.url + path);
    // Injected through the debugger, because the policy of the page would refuse this test script.
    await page.evaluate(axe);
    const found = await page.evaluate<{
      passes: number;
      violations: { id: string; impact: string; html: string[] }[];
    }>(
      `axe.run(${options}).then(({ passes, violations }) => ({
        passes: passes.length,
        violations: violations.map(({ id, impact, nodes }) => ({ id, impact, html: nodes.map(({ html }) => html) })),
      }))`,
    );
    expect(found.passes, name).toBeGreaterThan(0);
    const serious = found.violations.filter(({ impact }) => impact === 'serious' || impact === 'critical');
    expect([name, serious]).toEqual([name, []]);
  }
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
  await tabTo(page, 'sql');
  await page.keyboard.press('Control+A');
  await page.keyboard.type(
    "SELECT status, count(*) AS investments FROM investments WHERE source = 'acme' GROUP BY status",
  );
  await page.keyboard.press('Control+Enter');
  await page.locator('#result svg.bar').first().waitFor({ timeout: 15_000 });
  // Tab leaves the box, so the keyboard is not trapped in it.
  await page.locator('#sql').focus();
  await page.keyboard.press('Tab');
  expect(await focused(page)).toBe('Run');
  await page.screenshot({ path: join(shots, 'result-1280.png'), fullPage: true });
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
  await page.goto(`${world.url}/sql`);
  await page.locator('#sql').fill("SELECT status FROM investments WHERE id = 'inv_ada'");
  await page.getByLabel('As of').fill('2026-10-15');
  expect(new URL(page.url()).search).toBe('?as-of=2026-10-15');
  await page.getByRole('button', { name: 'Run' }).click();
  await page.getByText('As of 2026-10-15 23:59:59 UTC.').waitFor({ timeout: 15_000 });
  expect(await page.locator('#result').textContent()).toContain('reserved');
  expect(new URL(page.url()).search).toBe('?as-of=2026-10-15');
  await page.getByLabel('As of').fill('');
  await page.getByRole('button', { name: 'Run' }).click();
  await page.locator('#result').getByText('active').first().waitFor({ timeout: 15_000 });
  expect(new URL(page.url()).search).toBe('');
  expect(complaints).toEqual([]);
  await context.close();
});

test('an open overview updates itself and keeps the focus', async () => {
  const { context, page, complaints } = await visit();
  await page.goto(world.url);
  await page.getByText('Live', { exact: true }).waitFor();
  await page.locator('#sources a').first().focus();
  world.database.raw.prepare("UPDATE sources SET rows_held = 31337 WHERE name = 'acme'").run();
  world.tick();
  await page.getByText('31,337').waitFor();
  expect(await page.evaluate('document.activeElement.textContent')).toBe('acme');
  expect([await pwned(page), complaints]).toEqual([undefined, []]);
  await context.close();
});

test('without script the dashboard shows everything, including the numbers of charts', async () => {
  const { context, page }: { context: BrowserContext; page: Page } = await visit({ script: false });
  await page.goto(`${world.url}/companies/acme/co_1`);
  expect(await page.getByRole('cell', { name: '$4,390.00' }).first().isVisible()).toBe(true);
  expect(await page.locator('.plot').first().isVisible()).toBe(false);
  await page.goto(`${world.url}/`);
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
