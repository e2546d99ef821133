import { readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, type ExpectStatic, expect, test } from 'vitest';
import { packageRoot } from '../../src/runtime/package-root.js';
import { type RunningConsole, startConsole } from '../console/running-console.js';
import { launchBrowser } from './browser.js';
import { open, pages, refusals } from './dashboard-pages.js';
import { Windows } from './windows.js';

let browser: Browser;
let world: RunningConsole;
let locked: RunningConsole;
const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

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

/** Pages by their address. */
const addresses = Object.entries({ ...pages, ...refusals }).filter(([name]) => !name.startsWith('hostile'));

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

interface Violation {
  readonly id: string;
  readonly html: readonly string[];
}

/** Runs every rule, best practices and the size of targets included, or those named, and returns what they find. */
async function violations(page: Page, rules?: readonly string[]): Promise<readonly Violation[]> {
  const options = rules === undefined ? { rules: { 'target-size': { enabled: true } } } : { runOnly: rules };
  const { passes, found } = await page.evaluate<{ passes: number; found: Violation[] }>(
    `axe.run(${JSON.stringify({ resultTypes: ['violations'], ...options })}).then(({ passes, violations }) => ({
      passes: passes.length,
      found: violations.map(({ id, nodes }) => ({ id, html: nodes.map(({ html }) => html) })),
    }))`,
  );
  expect(passes).toBeGreaterThan(rules === undefined ? 10 : 0);
  return found;
}

/** The dark scheme changes colors only; a test below checks that. */
const rulesOfColors = ['color-contrast', 'link-in-text-block'];

const windows = new Windows(() => open(browser));

/** What the structure of a page shows, in the form that every page must have. */
const structure = `(() => {
  const levels = [...document.querySelectorAll('h1, h2, h3, h4, h5, h6')].map(({ tagName }) => Number(tagName[1]));
  return {
    language: document.documentElement.lang,
    title: document.title.endsWith(' · rosterd'),
    first: levels[0],
    ones: levels.filter((level) => level === 1).length,
    gaps: levels.filter((level, index) => index > 0 && level > levels[index - 1] + 1).length,
    untitled: [...document.querySelectorAll('table')].filter(
      (table) => !table.caption?.textContent.trim() || table.querySelector('th:not([scope])') !== null,
    ).length,
    bare: [...document.querySelectorAll('tbody tr')].filter((row) => row.querySelector('th[scope=row]') === null)
      .length,
    unnamed: [...document.querySelectorAll('input:not([type=hidden]), select, textarea')].filter(
      (field) => field.labels.length === 0 && !field.getAttribute('aria-label'),
    ).length,
  };
})()`;
const orderly = {
  language: 'en',
  title: true,
  first: 1,
  ones: 1,
  gaps: 0,
  untitled: 0,
  bare: 0,
  unnamed: 0,
};

/** Marks a row as changed, which moves, and returns the elements that move. */
const moving = `(() => {
  document.querySelector('tbody tr')?.classList.add('fresh');
  return [...document.querySelectorAll('*')].filter((one) => {
    const { animationName, transitionDuration } = getComputedStyle(one);
    return animationName !== 'none' || transitionDuration.split(', ').some((time) => Number.parseFloat(time) > 0);
  }).map((one) => one.outerHTML.slice(0, 80));
})()`;

/** Looks at a page wide, dark and narrow, and leaves it wide and light. */
async function check(page: Page, expect: ExpectStatic): Promise<void> {
  expect.soft(await page.evaluate(structure)).toEqual(orderly);
  // Injected through the debugger, because the policy of the page would refuse this test script.
  await page.evaluate(axe);
  expect.soft(['wide', await violations(page)]).toEqual(['wide', []]);
  await page.emulateMedia({ colorScheme: 'dark' });
  expect.soft(['dark', await violations(page, rulesOfColors)]).toEqual(['dark', []]);
  await page.emulateMedia({ colorScheme: 'light' });
  await page.setViewportSize({ width: 320, height: 900 });
  expect.soft(['narrow', await violations(page)]).toEqual(['narrow', []]);
  expect.soft(await page.evaluate<string[]>(moving)).toEqual([]);
  await page.setViewportSize({ width: 1280, height: 900 });
}

test.concurrent.for(Object.keys(ways))(
  'an automated check of "%s" finds nothing, wide, dark and narrow; headings and tables are in order; nothing moves',
  (name, { expect }) =>
    windows.use(async ({ page }) => {
      await ways[name]?.(page);
      await check(page, expect);
    }),
);

test('the dark scheme changes nothing but colors', () => {
  const folder = join(packageRoot, 'src/console/assets');
  // Only colors can be written with light-dark().
  const others = readdirSync(folder).filter((name) =>
    readFileSync(join(folder, name), 'utf8').includes('prefers-color-scheme'),
  );
  // A chart is one canvas, and its numbers are in the table beside it.
  expect(others).toEqual(['charts.js']);
  // The pages of the platform too.
  expect(readFileSync(join(packageRoot, 'src/platform/pages/style.ts'), 'utf8')).not.toContain(
    'prefers-color-scheme',
  );
});

test('a reader who does not prefer reduced motion sees a changed row move', async () => {
  const { context, page } = await open(browser, { motion: true });
  await page.goto(world.url);
  expect(await page.evaluate<string[]>(moving)).toHaveLength(1);
  await context.close();
});

const allControls = `[...document.querySelectorAll('a[href], button, input:not([type=hidden]), select, textarea, summary, [tabindex="0"]')]
  .filter((one) => one.tabIndex >= 0 && !one.disabled && one.checkVisibility())`;

/** The element with the focus, marked as reached. `again` when it was reached before, or when no element has the focus. */
const focus = `(() => {
  const here = document.activeElement;
  if (here === document.body) return { what: '', seen: true, again: true, waits: false };
  // The editor marks itself a moment after it gets the focus.
  if (here.shadowRoot && here.shadowRoot.querySelector('.cm-focused') === null) return { waits: true };
  const again = here.dataset.reached !== undefined && here.type !== 'date';
  here.dataset.reached = '';
  // The editor draws the outline around itself, inside its shadow root.
  const drawn = here.shadowRoot?.activeElement?.closest('.cm-editor') ?? here;
  const { outlineStyle, outlineWidth } = getComputedStyle(drawn);
  const box = here.getBoundingClientRect();
  const inside = box.width > 0 && box.bottom > 0 && box.top < innerHeight && box.right > 0 && box.left < innerWidth;
  return {
    what: here.outerHTML.slice(0, 80),
    seen: outlineStyle !== 'none' && Number.parseFloat(outlineWidth) >= 2 && inside,
    again,
    waits: false,
  };
})()`;

interface Focus {
  readonly what: string;
  readonly seen: boolean;
  readonly again: boolean;
}

async function focusOf(page: Page): Promise<Focus> {
  for (;;) {
    const found = await page.evaluate<Focus & { readonly waits: boolean }>(focus);
    if (!found.waits) return found;
    await page.evaluate('new Promise(requestAnimationFrame)');
  }
}

/** Presses Tab until the focus comes back. Returns controls that it did not show, and controls that it did not reach. */
async function tabThrough(page: Page): Promise<{ readonly unseen: string[]; readonly missed: string[] }> {
  const controls = await page.evaluate<number>(`${allControls}.length`);
  const unseen: string[] = [];
  for (let reached = 0; reached <= 2 * controls; reached += 1) {
    await page.keyboard.press('Tab');
    const here = await focusOf(page);
    if (here.again) break;
    if (!here.seen) unseen.push(here.what);
  }
  return { unseen, missed: await page.evaluate<string[]>(missed) };
}

const missed = `${allControls}.filter((one) => one.dataset.reached === undefined).map((one) => one.outerHTML.slice(0, 80))`;

/** Gives the focus to each control that the Tab key has reached. Returns those that it did not show. */
const unseenAgain = `(async () => {
  const unseen = [];
  for (const one of document.querySelectorAll('[data-reached]')) {
    (one.shadowRoot?.querySelector('[contenteditable]') ?? one).focus();
    let here = ${focus};
    while (here.waits) {
      await new Promise(requestAnimationFrame);
      here = ${focus};
    }
    if (!here.seen || document.activeElement !== one) unseen.push(one.outerHTML.slice(0, 80));
  }
  return unseen;
})()`;

/** Each page is opened once: that takes longer than most of the checks. */
test.concurrent.for(addresses)(
  'an automated check of the page "%s" finds nothing, wide, dark and narrow; headings and tables are in order; nothing moves; the Tab key reaches every control in its order and shows where it is, light and dark',
  ([, path], { expect }) =>
    windows.use(async ({ page }) => {
      // An update would replace sections, and with them the marks of what was reached.
      await page.route(/\/events/, () => {});
      await page.goto(world.url + path);
      await check(page, expect);
      expect(await tabThrough(page)).toEqual({ unseen: [], missed: [] });
      await page.emulateMedia({ colorScheme: 'dark' });
      const dark = { unseen: await page.evaluate(unseenAgain), missed: await page.evaluate(missed) };
      expect(dark).toEqual({ unseen: [], missed: [] });
    }),
);
