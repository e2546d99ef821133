import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Page } from 'playwright-core';
import { type ExpectStatic, expect } from 'vitest';

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

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

/** The dark scheme changes colors only; a test of the pages checks that. */
const rulesOfColors = ['color-contrast', 'link-in-text-block'];

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
export const moving = `(() => {
  document.querySelector('tbody tr')?.classList.add('fresh');
  return [...document.querySelectorAll('*')].filter((one) => {
    const { animationName, transitionDuration } = getComputedStyle(one);
    return animationName !== 'none' || transitionDuration.split(', ').some((time) => Number.parseFloat(time) > 0);
  }).map((one) => one.outerHTML.slice(0, 80));
})()`;

/** Looks at a page wide, dark and narrow, and leaves it wide and light. */
export async function check(page: Page, expect: ExpectStatic): Promise<void> {
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
