import type { Browser, BrowserContext, Page } from 'playwright-core';
import { hostile, type RunningConsole, Visitor } from '../console/running-console.js';
import { takesPictures } from './picture.js';
import type { Window } from './windows.js';

const hostileAddress = encodeURIComponent(hostile);

/** Every page of the dashboard, by a name for its screenshots. */
export const pages = {
  overview: '/',
  companies: '/companies',
  company: '/companies/acme/co_1',
  roster: '/roster?source=acme',
  record: '/records/acme/inv_ada',
  sql: '/sql',
  operations: '/operations',
  sources: '/sources',
  source: '/sources/acme',
  'overview-then': '/?as-of=2026-10-15',
  'companies-then': '/companies?as-of=2026-10-15',
  'company-then': '/companies/acme/co_1?as-of=2026-10-15',
  'roster-then': '/roster?source=acme&as-of=2026-10-15',
  'sql-then': '/sql?as-of=2026-10-15',
  'hostile-company': `/companies/hostile/${hostileAddress}`,
  'hostile-roster': '/roster?source=hostile',
  'hostile-source': '/sources/hostile',
  'hostile-sources': `/sources?search=${hostileAddress}`,
  'hostile-record': `/records/hostile/${hostileAddress}`,
} as const;

/** Pages that report why they show nothing. */
export const refusals = {
  'no-page': '/nothing-here',
  'no-record': '/records/acme/inv_never',
  'no-company': '/companies/acme/co_never',
  'no-source': '/sources/never',
  'no-time': '/roster?as-of=soon',
  'no-company-then': '/companies/acme/co_1?as-of=soon',
} as const;

export interface Look {
  readonly width?: number;
  readonly dark?: boolean;
  readonly script?: boolean;
  /** The time zone of the reader; UTC unless it is named. */
  readonly zone?: string;
  readonly motion?: boolean;
}

/** Opens a new window. */
export async function open(browser: Browser, look: Look = {}): Promise<Window> {
  const { width = 1280, dark = false, script = true, zone = 'UTC', motion = false } = look;
  const context = await browser.newContext({
    viewport: { width, height: 900 },
    colorScheme: dark ? 'dark' : 'light',
    reducedMotion: motion ? 'no-preference' : 'reduce',
    javaScriptEnabled: script,
    locale: 'en-US',
    timezoneId: zone,
  });
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on('console', (message) => complaints.push(message.text()));
  page.on('pageerror', (error) => complaints.push(error.message));
  return { context, page, complaints };
}

/** Signs a window in without its pages, in a session of its own. */
export async function signIn(context: BrowserContext, world: RunningConsole, token: string): Promise<void> {
  const visitor = new Visitor(world.port);
  await visitor.send('/sign-in', { token, to: '/' });
  const [name = '', value = ''] = visitor.cookie.split('=');
  await context.addCookies([{ name, value, url: world.url }]);
}

/**
 * Shows a page on a phone, a tablet and a desktop, and dark on a desktop, in the order that changes the least. A test
 * makes sure that the dark scheme changes nothing but colors. For pictures, it shows the page dark in each size.
 */
export async function* eachLook(
  page: Page,
): AsyncGenerator<{ readonly width: number; readonly dark: boolean }> {
  for (const dark of [false, true]) {
    await page.emulateMedia({ colorScheme: dark ? 'dark' : 'light' });
    for (const width of dark ? (takesPictures() ? [1280, 768, 320] : [1280]) : [320, 768, 1280]) {
      await page.setViewportSize({ width, height: 900 });
      yield { width, dark };
    }
  }
}
