import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type RunningConsole, startConsole } from '../console/running-console.js';
import { launchBrowser } from './browser.js';
import { open, pages, refusals } from './dashboard-pages.js';

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

/** Ways to every page: what the address has, and what a person gets by doing something. */
const ways: Readonly<Record<string, (page: Page) => Promise<unknown>>> = {
  ...Object.fromEntries(
    Object.entries({ ...pages, ...refusals })
      .filter(([name]) => !name.startsWith('hostile'))
      .map(([name, path]) => [name, (page: Page) => page.goto(world.url + path)]),
  ),
  'a result': async (page) => {
    await page.goto(`${world.url}/sql`);
    await write(page, statement);
    await page.getByRole('button', { name: 'Run' }).click();
    await page.locator('#result').waitFor({ timeout: 20_000 });
  },
  'a refused statement': async (page) => {
    await page.goto(`${world.url}/sql`);
    await write(page, 'SELECT raised_cent FROM investments');
    await page.getByRole('button', { name: 'Run' }).click();
    await page.getByRole('alert').waitFor({ timeout: 20_000 });
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

/** Runs every rule, best practices and the size of targets included, and returns what they find. */
async function violations(page: Page): Promise<readonly Violation[]> {
  // Injected through the debugger, because the policy of the page would refuse this test script.
  await page.evaluate(axe);
  const { passes, found } = await page.evaluate<{ passes: number; found: Violation[] }>(
    `axe.run({ resultTypes: ['violations'], rules: { 'target-size': { enabled: true } } }).then(
      ({ passes, violations }) => ({
        passes: passes.length,
        found: violations.map(({ id, nodes }) => ({ id, html: nodes.map(({ html }) => html) })),
      }))`,
  );
  expect(passes).toBeGreaterThan(10);
  return found;
}

describe.each([
  [1280, false],
  [1280, true],
  [320, false],
])('at %i px (dark: %s)', (width, dark) => {
  test.each(Object.keys(ways))(
    'an automated accessibility check of "%s" finds nothing',
    {
      timeout: 30_000,
    },
    async (name) => {
      const { context, page } = await open(browser, { width, dark });
      await ways[name]?.(page);
      expect(await violations(page)).toEqual([]);
      await context.close();
    },
  );
});

test('every page has one title, headings without gaps, and tables with a caption and scopes', async () => {
  const { context, page } = await open(browser);
  for (const [name, go] of Object.entries(ways)) {
    await go(page);
    const seen = await page.evaluate<Record<string, unknown>>(`(() => {
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
    })()`);
    expect([name, seen]).toEqual([
      name,
      { language: 'en', title: true, first: 1, ones: 1, gaps: 0, untitled: 0, bare: 0, unnamed: 0 },
    ]);
  }
  await context.close();
});

test.each([false, true])(
  'the Tab key reaches every control of every page in its order and shows where it is (dark: %s)',
  { timeout: 60_000 },
  async (dark) => {
    const { context, page } = await open(browser, { dark });
    for (const [name, path] of Object.entries({ ...pages, ...refusals })) {
      if (name.startsWith('hostile')) continue;
      await page.goto(world.url + path);
      const controls = await page.evaluate<number>(
        `[...document.querySelectorAll('a[href], button, input:not([type=hidden]), select, textarea, summary, [tabindex="0"]')]
          .filter((one) => one.tabIndex >= 0 && !one.disabled && one.checkVisibility()).length`,
      );
      const unseen: string[] = [];
      let reached = 0;
      for (; reached <= 2 * controls; reached += 1) {
        await page.keyboard.press('Tab');
        // The editor marks itself a moment after it gets the focus.
        await expect
          .poll(() =>
            page.evaluate<boolean>(
              "!document.activeElement?.shadowRoot || document.activeElement.shadowRoot.querySelector('.cm-focused') !== null",
            ),
          )
          .toBe(true);
        const here = await page.evaluate<{ what: string; seen: boolean; again: boolean }>(`(() => {
          const here = document.activeElement;
          if (here === document.body) return { what: '', seen: true, again: true };
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
          };
        })()`);
        if (here.again) break;
        if (!here.seen) unseen.push(here.what);
      }
      expect([name, unseen]).toEqual([name, []]);
      const missed = await page.evaluate<string[]>(
        `[...document.querySelectorAll('a[href], button, input:not([type=hidden]), select, textarea, summary, [tabindex="0"]')]
          .filter((one) => one.tabIndex >= 0 && !one.disabled && one.checkVisibility() && one.dataset.reached === undefined)
          .map((one) => one.outerHTML.slice(0, 80))`,
      );
      expect([name, missed]).toEqual([name, []]);
    }
    await context.close();
  },
);

test('a reader who prefers reduced motion sees no animation and no transition', async () => {
  const { context, page } = await open(browser);
  const moving = `[...document.querySelectorAll('*')].filter((one) => {
    const { animationName, transitionDuration } = getComputedStyle(one);
    return animationName !== 'none' || transitionDuration.split(', ').some((time) => Number.parseFloat(time) > 0);
  }).map((one) => one.outerHTML.slice(0, 80))`;
  for (const path of Object.values(pages)) {
    await page.goto(world.url + path);
    await page.evaluate("document.querySelector('tbody tr')?.classList.add('fresh')");
    expect([path, await page.evaluate<string[]>(moving)]).toEqual([path, []]);
  }
  await context.close();
  const moved = await open(browser, { motion: true });
  await moved.page.goto(world.url);
  await moved.page.evaluate("document.querySelector('tbody tr').classList.add('fresh')");
  expect(await moved.page.evaluate<string[]>(moving)).toHaveLength(1);
  await moved.context.close();
});
