import type { Browser, Page } from 'playwright-core';
import { expect } from 'vitest';
import { picture } from './picture.js';
import { type Window, Windows } from './windows.js';

/** From the narrowest phone to a desktop. */
export const widths = [320, 1280] as const;

export interface Look {
  readonly width?: number;
  readonly dark?: boolean;
  /** Off by default: a page that works without script works in every browser. */
  readonly script?: boolean;
}

/** Runs a visit and fails on content policy violations, broken markup and script errors. */
export async function visit(browser: Browser, look: Look, run: (page: Page) => Promise<void>): Promise<void> {
  const { width = 1280, dark = false, script = false } = look;
  await windowsOf(browser, script).use(async ({ page, complaints }) => {
    await resize(page, width);
    if (dark) await page.emulateMedia({ colorScheme: 'dark' });
    await run(page);
    expect(complaints).toEqual([]);
  });
}

const opened = new WeakMap<Browser, Map<boolean, Windows>>();

function windowsOf(browser: Browser, script: boolean): Windows {
  const ofBrowser = opened.get(browser) ?? new Map<boolean, Windows>();
  opened.set(browser, ofBrowser);
  const windows = ofBrowser.get(script) ?? new Windows(() => open(browser, script));
  ofBrowser.set(script, windows);
  return windows;
}

async function open(browser: Browser, script: boolean): Promise<Window> {
  const context = await browser.newContext({
    javaScriptEnabled: script,
    viewport: { width: 1280, height: 800 },
    colorScheme: 'light',
  });
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on('pageerror', (error) => complaints.push(error.message));
  // The console reports a refused page as a failed load; that is expected.
  page.on('console', (message) => {
    if (!message.text().startsWith('Failed to load resource')) complaints.push(message.text());
  });
  return { context, page, complaints };
}

/** The edges of the page's content, and the heights of the buttons that it shows. */
const measured = `(() => {
  const { left, right } = document.querySelector('main').getBoundingClientRect();
  const buttons = [...document.querySelectorAll('button:not(.link)')]
    .filter((button) => button.checkVisibility({ visibilityProperty: true }))
    .map((button) => button.getBoundingClientRect().height);
  return { left, right, buttons };
})()`;

interface Measured {
  readonly left: number;
  readonly right: number;
  readonly buttons: readonly number[];
}

/** Checks the layout at each width: nothing overflows sideways, and every button is large enough for a thumb. */
export async function tidy(page: Page, name: string, at: readonly number[] = widths): Promise<void> {
  const before = page.viewportSize();
  await page.waitForLoadState('domcontentloaded');
  for (const width of at) {
    await resize(page, width);
    await picture(page, `${name}-${width}`);
    const { left, right, buttons } = await page.evaluate<Measured>(measured);
    expect([name, width, left, right]).toEqual([
      name,
      width,
      expect.toSatisfy((edge: number) => edge >= 0),
      expect.toSatisfy((edge: number) => edge <= width),
    ]);
    for (const height of buttons) expect(height).toBeGreaterThanOrEqual(44);
  }
  if (before !== null) await resize(page, before.width);
}

async function resize(page: Page, width: number): Promise<void> {
  if (page.viewportSize()?.width !== width) await page.setViewportSize({ width, height: 800 });
}

export const press = (page: Page, name: string): Promise<void> => page.getByRole('button', { name }).click();

export const heading = (page: Page): Promise<string | null> =>
  page.getByRole('heading', { level: 1 }).textContent();
