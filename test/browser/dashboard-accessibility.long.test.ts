import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { packageRoot } from '../../src/runtime/package-root.js';
import { type RunningConsole, startConsole } from '../console/running-console.js';
import { check, moving } from './accessibility.js';
import { launchBrowser } from './browser.js';
import { open, pages, refusals } from './dashboard-pages.js';
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

const windows = new Windows(() => open(browser));

/** Pages by their address. */
const addresses = Object.entries({ ...pages, ...refusals }).filter(([name]) => !name.startsWith('hostile'));

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
