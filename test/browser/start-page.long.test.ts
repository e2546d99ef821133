import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { company, type RunningPlatform, startPlatform, worldStart } from '../conformance/running-platform.js';
import { launchBrowser } from './browser.js';
import { eachLook } from './dashboard-pages.js';
import { heading, press, tidy, visit } from './looks.js';

let browser: Browser;
let world: RunningPlatform;

beforeAll(async () => {
  world = await startPlatform({ limits: false });
  browser = await launchBrowser();
});
afterAll(async () => {
  await browser?.close();
  await world.close();
});
beforeEach(async () => {
  await world.control('POST', '/reset');
  await world.control('POST', '/faults', { path: '/docs', times: 2, action: { status: 503 } });
  await world.get('/investments', { token: company(world).token });
});

const overflow = 'document.documentElement.scrollWidth - innerWidth';

test('the start page fits phone, tablet and desktop, light and dark, with everything unfolded', async () => {
  await visit(browser, { script: true }, async (page) => {
    await page.goto(world.url);
    await page.getByText('Updates by itself.').waitFor();
    for (const name of ['start', 'start-open']) {
      for await (const { width, dark } of eachLook(page)) {
        await tidy(page, dark ? `${name}-dark` : name, [width]);
        expect([name, width, await page.evaluate<number>(overflow)]).toEqual([name, width, 0]);
      }
      for (const summary of await page.locator('summary').all())
        if ((await summary.locator('..').getAttribute('open')) === null) await summary.click();
    }
  });
});

test('the log, the clock and the faults of the start page update by themselves and keep the focus', async () => {
  await visit(browser, { script: true }, async (page) => {
    await page.goto(world.url);
    const log = page.locator('#log');
    await log.getByText('GET /investments').waitFor();
    await log.getByRole('region').focus();
    await world.get('/campaigns', { token: company(world).token });
    await log.getByText('GET /campaigns').waitFor();
    expect(await page.evaluate<string>('document.activeElement.className')).toBe('scroll');
    await world.control('POST', '/clock', { advanceSeconds: 7200 });
    await page.getByText('2 hours ahead of real time.').waitFor();
    await world.control('DELETE', '/faults');
    await page.getByText('None: every request is answered normally.').waitFor();
  });
});

test('a person signs in, moves the clock and opens a checkout with the keyboard alone', async () => {
  await visit(browser, {}, async (page) => {
    await page.goto(world.url);
    await page.getByRole('button', { name: 'Ivan Investor' }).focus();
    await page.keyboard.press('Enter');
    await page.getByText('Not you?').waitFor();
    await page.getByRole('button', { name: 'An hour later' }).focus();
    await page.keyboard.press('Enter');
    await page.getByText('1 hour ahead of real time.').waitFor();
    expect(world.clock.now()).toBe(worldStart + 3_600_000);
    await page.getByRole('button', { name: 'Open a checkout' }).focus();
    await page.keyboard.press('Enter');
    await page.waitForURL('**/checkout/*');
    expect(await heading(page)).not.toBe('A sandbox of the platform');
  });
});

test('the copy button of the start page puts the token into the clipboard', async () => {
  await visit(browser, { script: true }, async (page) => {
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    await page.goto(world.url);
    // The button says so for two seconds, which a look at the page from outside may miss.
    const said = page.evaluate(`new Promise((resolve) => {
      new MutationObserver(() => {
        if (document.body.textContent.includes('Copied')) resolve();
      }).observe(document.body, { subtree: true, childList: true, characterData: true });
    })`);
    await press(page, `Copy: ${company(world).name}, with names`);
    await said;
    expect(await page.evaluate<string>('navigator.clipboard.readText()')).toBe(company(world).token);
  });
});

test('without scripts the start page has no copy buttons and says how to see new entries', async () => {
  await visit(browser, {}, async (page) => {
    await page.goto(world.url);
    expect(await page.locator('button[data-copy]:visible').count()).toBe(0);
    expect(await page.getByRole('status').textContent()).toBe('Reload the page to see new entries.');
  });
});

test('a page of another port cannot move the clock of the sandbox with a form', async () => {
  await visit(browser, { script: true }, async (page) => {
    await page.goto(world.url);
    const other = await startPlatform({ limits: false });
    try {
      await page.goto(`${other.url}/openapi.json`);
      const answered = page.waitForResponse((response) => response.url() === `${world.url}/`);
      await page.evaluate(`(() => {
        const form = document.createElement('form');
        form.method = 'post';
        form.action = '${world.url}/';
        form.innerHTML = '<input name="action" value="advance"><input name="seconds" value="3600">';
        document.body.append(form);
        form.submit();
      })()`);
      expect((await answered).status()).toBe(403);
      expect(world.clock.now()).toBe(worldStart);
      // The window cannot be emptied for the next test while it shows the answer of the form.
      await page.waitForURL(`${world.url}/`);
    } finally {
      await other.close();
    }
  });
});
