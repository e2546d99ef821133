import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  company,
  companyName,
  type RunningConsole,
  rounds,
  startConsole,
} from '../console/running-console.js';
import { launchBrowser } from './browser.js';
import { open } from './dashboard-pages.js';
import { Windows } from './windows.js';

let browser: Browser;
let world: RunningConsole;

beforeAll(async () => {
  world = await startConsole({ rows: 12 });
  browser = await launchBrowser();
});
afterAll(async () => {
  await browser?.close();
  await world.close();
});

const round = rounds.ofr_1;

/** Every page that shows records, and the names a reader finds on it. */
const records: readonly (readonly [string, string, readonly string[]])[] = [
  ['the overview', '/', [companyName, round]],
  ['the overview of a past day', '/?as-of=2026-11-01', [companyName]],
  ['the companies', '/companies', [companyName]],
  ['a company', `/companies/acme/${company}`, [companyName, ...Object.values(rounds)]],
  ['the roster', '/roster', [companyName, ...Object.values(rounds)]],
  ['the roster of one source', '/roster?source=acme', Object.values(rounds)],
  ['the roster of a past day', '/roster?source=acme&as-of=2026-11-01', [round]],
  ['a record', '/records/acme/inv_ada', [companyName, round]],
  ['a record that is gone', '/records/acme/inv_gone', [companyName, round]],
  ['the operations', '/operations', [companyName, round]],
  ['a documented query', '/sql?query=by-round', Object.values(rounds)],
];

const windows = new Windows(() => open(browser));

test.each(records)('%s has the names of companies and rounds', (_, path, names) =>
  windows.use(async ({ page }) => {
    await page.goto(world.url + path);
    const text = await page.locator('main').innerText();
    expect(names.filter((name) => !text.includes(name))).toEqual([]);
  }),
);

/** Returns the ids of companies and rounds that stand without a name beside them, and those as large as a name. */
const idsOf = (page: Page) =>
  page.evaluate<{ alone: string[]; large: string[]; count: number }>(`(() => {
    const ids = [...document.querySelectorAll('main .id')].filter((one) => /^(co|ofr)_/.test(one.dataset.id));
    const size = (one) => Number.parseFloat(getComputedStyle(one).fontSize);
    // The name is in the same cell, or in the heading above the id.
    const nameOf = (one) => one.closest('.named') ?? one.closest('.under')?.parentElement?.querySelector('h1, h3');
    return {
      count: ids.length,
      alone: ids.filter((one) => !nameOf(one)).map((one) => one.dataset.id),
      large: ids
        .filter((one) => nameOf(one) && size(one.querySelector('code')) > 0.9 * size(nameOf(one)))
        .map((one) => one.dataset.id),
    };
  })()`);

test('every id of a company or round is small beside its name, on a phone and a desktop', () =>
  windows.use(async ({ page }) => {
    const seen = new Map<number, number>();
    for (const [name, path] of records) {
      if (path.startsWith('/sql')) continue;
      await page.goto(world.url + path);
      for (const width of [320, 1280]) {
        await page.setViewportSize({ width, height: 900 });
        const { alone, large, count } = await idsOf(page);
        expect([name, width, alone, large]).toEqual([name, width, [], []]);
        seen.set(width, (seen.get(width) ?? 0) + count);
      }
    }
    expect(Math.min(...seen.values())).toBeGreaterThan(20);
  }));

test('a long name takes several lines, and the figures beside it stay in sight', () =>
  windows.use(async ({ page }) => {
    const long = 'Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft';
    const rename = world.database.raw.prepare('UPDATE company_rows SET name = ? WHERE id = ?');
    rename.run(`${long} of Passau, Linz and Vienna, limited by shares`, company);
    const hidden =
      "(() => { const one = document.querySelector('.scroll'); return one.scrollWidth - one.clientWidth; })()";
    for (const path of ['/companies', '/']) {
      await page.goto(world.url + path);
      expect([path, await page.evaluate(hidden)]).toEqual([path, 0]);
    }
    rename.run(companyName, company);
  }));

test('a round or company without a name is shown by its id', () =>
  windows.use(async ({ page }) => {
    world.database.raw.prepare("UPDATE offering_rows SET name = NULL WHERE id = 'ofr_2'").run();
    await page.goto(`${world.url}/roster?source=acme&round=ofr_2`);
    expect(await page.locator('tbody .id[data-id=ofr_2]').first().innerText()).toBe('ofr_2');
    world.database.raw.prepare('UPDATE offering_rows SET name = ? WHERE id = ?').run(rounds.ofr_2, 'ofr_2');
  }));

test('a click on an id copies it, and its button does so with the keyboard', async () => {
  const { context, page, complaints } = await open(browser);
  await context.grantPermissions(['clipboard-read', 'clipboard-write'], { origin: world.url });
  const copied = () => page.evaluate<string>('navigator.clipboard.readText()');
  await page.goto(`${world.url}/roster?source=acme&id=inv_ada`);
  await page.locator('tbody .id[data-id=ofr_1] code').click();
  await page.getByText('Copied ofr_1').waitFor({ state: 'attached' });
  expect(await copied()).toBe('ofr_1');
  // The id of an investment is a link; its button appears beside it.
  await page.locator('tbody .id[data-id=inv_ada]').hover();
  await page.getByRole('button', { name: 'Copy inv_ada' }).click();
  await page.getByText('Copied inv_ada').waitFor({ state: 'attached' });
  expect([await copied(), new URL(page.url()).pathname]).toEqual(['inv_ada', '/roster']);

  await page.goto(`${world.url}/records/acme/inv_ada`);
  await page.getByRole('button', { name: 'Copy usr_1' }).focus();
  await page.keyboard.press('Enter');
  await page.getByText('Copied usr_1').waitFor({ state: 'attached' });
  expect(await copied()).toBe('usr_1');
  expect(complaints).toEqual([]);
  await context.close();
});

test('an id is copied too where the browser offers no clipboard, as on a page without TLS', async () => {
  const { context, page } = await open(browser);
  await page.addInitScript(
    "Object.defineProperty(Navigator.prototype, 'clipboard', { get: () => undefined })",
  );
  await page.goto(`${world.url}/records/acme/inv_ada`);
  await page.evaluate(
    "document.addEventListener('copy', () => { window.taken = String(document.activeElement.value) })",
  );
  await page.getByRole('button', { name: 'Copy usr_1' }).click();
  await page.getByText('Copied usr_1').waitFor({ state: 'attached' });
  expect(await page.evaluate('window.taken')).toBe('usr_1');
  await context.close();
});

test('times are those of the reader, with UTC in the title, and UTC without script', async () => {
  const { context, page, complaints } = await open(browser, { zone: 'Asia/Tokyo' });
  await page.goto(`${world.url}/records/acme/inv_ada`);
  const applied = page.locator('.columns time').first();
  expect([await applied.innerText(), await applied.getAttribute('title')]).toEqual([
    '2026-10-10 19:00:00',
    '2026-10-10 10:00:00 UTC',
  ]);
  expect(await page.locator('footer').innerText()).toContain('times are those of Asia/Tokyo');
  // 24 hours and 17 hours after midnight in UTC are days later in Japan.
  await page.goto(`${world.url}/roster?source=acme&id=inv_0001`);
  const day = page.locator('tbody time').first();
  expect([await day.innerText(), await day.getAttribute('title')]).toEqual([
    '2026-08-02',
    '2026-08-01 17:00:00 UTC',
  ]);
  await page.goto(`${world.url}/roster?as-of=2026-11-01`);
  expect(await page.locator('.note.past').innerText()).toContain('As of 2026-11-02 08:59:59 GMT+9.');
  expect(complaints).toEqual([]);
  await context.close();

  const plain = await open(browser, { zone: 'Asia/Tokyo', script: false });
  await plain.page.goto(`${world.url}/records/acme/inv_ada`);
  expect(await plain.page.locator('.columns time').first().innerText()).toBe('2026-10-10 10:00:00');
  expect(await plain.page.locator('footer').innerText()).toContain('all times are UTC');
  await plain.context.close();
});

test('a page that takes its time says that it is loading, and a download does not', async () => {
  const { context, page, complaints } = await open(browser);
  await page.goto(`${world.url}/roster?source=acme`);
  let answer = () => {};
  const answered = new Promise<void>((resolve) => {
    answer = resolve;
  });
  await page.route('**/companies', async (route) => {
    await answered;
    await route.continue();
  });
  // Playwright cannot look at a page that is about to be replaced, so the page says itself what it shows.
  await page.evaluate(`new MutationObserver(() => {
    const words = document.querySelector('.pending')?.textContent;
    if (words) console.info(words, document.getElementById('main').ariaBusy);
  }).observe(document.body, { childList: true })`);
  const said = page.waitForEvent('console');
  await page.getByRole('link', { name: 'Companies' }).click({ noWaitAfter: true });
  expect((await said).text()).toBe('Loading… true');
  answer();
  await page.waitForURL(/companies$/);
  await page.goBack();
  await page.getByText('15 investments', { exact: true }).waitFor();
  expect(await page.locator('.pending').count()).toBe(0);

  const [file] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('button', { name: 'CSV' }).click(),
  ]);
  await file.path();
  expect(await page.locator('.pending').count()).toBe(0);
  expect(complaints).toEqual(['Loading… true']);
  await context.close();
});
