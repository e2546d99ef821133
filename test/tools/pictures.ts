import { mkdirSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { systemClock } from '../../src/runtime/clock.js';
import { silentLogger } from '../../src/runtime/logger.js';
import { packageRoot } from '../../src/runtime/package-root.js';
import { seededRandom } from '../../src/runtime/random.js';
import { startDemo } from '../../src/tasks/demo.js';
import { launchBrowser } from '../browser/browser.js';
import { readOptions } from '../support/options.js';

readOptions({
  name: 'npm run pictures',
  about: 'Writes the pictures of the README: the dashboard of a demonstration, in a real browser.',
  options: {},
});

const pictures = join(packageRoot, 'docs', 'images');
/** The README shows them scaled down, and a clone carries them. */
const bytesMax = 250_000;
const size = { width: 1200, height: 820 };
/** Long enough for webhooks to have changed something. */
const activityMillis = 8_000;

const folder = mkdtempSync(join(tmpdir(), 'rosterd-pictures-'));
const demo = await startDemo({
  file: join(folder, 'mirror.db'),
  sandbox: { seed: 1, companies: 3, records: 1_500, limits: false },
  pauseMillis: 400,
  blocking: (work) => work(),
  clock: systemClock,
  random: seededRandom(1),
  logger: silentLogger,
  onTick: () => {},
  signal: new AbortController().signal,
});
try {
  const browser = await launchBrowser();
  try {
    const page = await browser.newPage({
      viewport: size,
      colorScheme: 'light',
      reducedMotion: 'reduce',
      locale: 'en-US',
    });
    mkdirSync(pictures, { recursive: true });
    await systemClock.wait(activityMillis, new AbortController().signal);
    await page.goto(`${demo.daemon.consoleUrl}/`);
    await take(page, 'overview');
    await page.goto(`${demo.daemon.consoleUrl}/companies`);
    await page.locator('main a[href^="/companies/"]').first().click();
    await take(page, 'company');
  } finally {
    await browser.close();
  }
} finally {
  await demo.close();
  rmSync(folder, { recursive: true, force: true });
}

async function take(page: Page, name: string): Promise<void> {
  await page.waitForLoadState('networkidle', { timeout: 3_000 }).catch(() => {
    // The overview keeps a connection open for its live values.
  });
  const path = join(pictures, `${name}.png`);
  await page.screenshot({ path });
  const { size: bytes } = statSync(path);
  if (bytes > bytesMax) throw new Error(`${path} has ${bytes} bytes, more than ${bytesMax}`);
  process.stdout.write(`${path}: ${bytes} bytes\n`);
}
