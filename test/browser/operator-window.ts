import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, onTestFinished } from 'vitest';
import { type RunningConsole, startConsole } from '../console/running-console.js';
import { launchBrowser } from './browser.js';
import { signIn } from './dashboard-pages.js';

export const operator = 'the-token-of-oleg-1234';
let browser: Browser;
export let world: RunningConsole;

/** Starts a dashboard and a browser for the tests of a file. */
export function openDashboard(): void {
  beforeAll(async () => {
    world = await startConsole({
      auth: {
        tokens: [{ name: 'token:oleg', role: 'operator', secret: async () => operator }],
        basic: null,
        proxy: null,
      },
    });
    browser = await launchBrowser();
  });
  afterAll(async () => {
    await browser?.close();
    await world.close();
  });
}

/** Opens a window that collects its complaints. */
export async function window(script = true) {
  const context = await browser.newContext({
    reducedMotion: 'reduce',
    locale: 'en-US',
    javaScriptEnabled: script,
  });
  onTestFinished(() => context.close());
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on('console', (message) => {
    // What the browser says of a page that reports a mistake.
    if (!message.text().includes('status of 422')) complaints.push(message.text());
  });
  page.on('pageerror', (error) => complaints.push(error.message));
  return { context, page, complaints };
}

/** Opens a page in a window of its own, signed in. */
export async function visit(path: string) {
  const visited = await window();
  await signIn(visited.context, world, operator);
  await visited.page.goto(world.url + path);
  return visited;
}

/** The same, through the page that signs a person in. */
export async function visitBySigningIn(path: string, script = true) {
  const visited = await window(script);
  const { page } = visited;
  await page.goto(`${world.url}/sign-in?to=${encodeURIComponent(path)}`);
  // Text that is filled in before the browser has focused the field makes it complain.
  await page.locator('#token:focus').waitFor();
  await page.getByLabel('Token').fill(operator);
  await page.keyboard.press('Enter');
  await page.waitForURL((url) => url.pathname === path.split('?')[0]);
  return visited;
}

export const editor = (page: Page) => page.getByRole('textbox', { name: 'SQL statement' });

export async function write(page: Page, sql: string): Promise<void> {
  await editor(page).focus();
  await page.keyboard.press('ControlOrMeta+A');
  await page.keyboard.insertText(sql);
}

export const result = (page: Page) => page.locator('#result');
