import type { Browser, Page } from 'playwright-core';
import { expect } from 'vitest';
import { picture } from './picture.js';

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
  const context = await browser.newContext({
    javaScriptEnabled: look.script === true,
    viewport: { width: look.width ?? 1280, height: 800 },
    colorScheme: look.dark === true ? 'dark' : 'light',
  });
  try {
    const page = await context.newPage();
    const complaints: string[] = [];
    page.on('pageerror', (error) => complaints.push(error.message));
    // The console reports a refused page as a failed load; that is expected.
    page.on('console', (message) => {
      if (!message.text().startsWith('Failed to load resource')) complaints.push(message.text());
    });
    await run(page);
    expect(complaints).toEqual([]);
  } finally {
    await context.close();
  }
}

/** Checks the layout at each width: nothing overflows sideways, and every button is large enough for a thumb. */
export async function tidy(page: Page, name: string, at: readonly number[] = widths): Promise<void> {
  const before = page.viewportSize();
  for (const width of at) {
    await page.setViewportSize({ width, height: 800 });
    await picture(page, `${name}-${width}`);
    const [main, ...buttons] = await Promise.all([
      page.locator('main').boundingBox(),
      ...(await page.locator('button:not(.link):visible').all()).map((button) => button.boundingBox()),
    ]);
    const edges = [main?.x ?? -1, (main?.x ?? 0) + (main?.width ?? width + 1)];
    expect([name, width, edges[0], edges[1]]).toEqual([
      name,
      width,
      expect.toSatisfy((left: number) => left >= 0),
      expect.toSatisfy((right: number) => right <= width),
    ]);
    for (const button of buttons) expect(button?.height).toBeGreaterThanOrEqual(44);
  }
  if (before !== null) await page.setViewportSize(before);
}

export const press = (page: Page, name: string): Promise<void> => page.getByRole('button', { name }).click();

export const heading = (page: Page): Promise<string | null> =>
  page.getByRole('heading', { level: 1 }).textContent();
