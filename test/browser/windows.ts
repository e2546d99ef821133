import type { BrowserContext, Page } from 'playwright-core';

export interface Window {
  readonly context: BrowserContext;
  readonly page: Page;
  /** What the browser complained of, including violations of the content security policy. */
  readonly complaints: string[];
}

/**
 * Lends windows of one look, each to one test at a time. A test gets one that an earlier test has left, empty and without
 * its cookies, permissions and stored items: a window starts processes, which take longer than most checks.
 */
export class Windows {
  readonly #left: Window[] = [];

  constructor(private readonly open: () => Promise<Window>) {}

  async use(work: (window: Window) => Promise<void>): Promise<void> {
    const window = this.#left.pop() ?? (await this.open());
    const { context, page, complaints } = window;
    try {
      const before = await lookOf(page);
      await work(window);
      await page.unrouteAll({ behavior: 'ignoreErrors' });
      await page.evaluate('localStorage.clear(), sessionStorage.clear()');
      await page.goto('about:blank');
      await context.clearCookies();
      await context.clearPermissions();
      await page.emulateMedia({ colorScheme: before.dark ? 'dark' : 'light' });
      if (before.size !== null) await page.setViewportSize(before.size);
      complaints.length = 0;
    } catch (error) {
      await context.close();
      throw error;
    }
    this.#left.push(window);
  }
}

const lookOf = async (page: Page) => ({
  size: page.viewportSize(),
  dark: await page.evaluate<boolean>(`matchMedia('(prefers-color-scheme: dark)').matches`),
});
