import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Locator, Page } from 'playwright-core';

/** Takes a screenshot if ROSTERD_TEST_SCREENSHOTS names a folder, for a person to look at. */
export async function picture(of: Page | Locator, name: string): Promise<void> {
  const folder = process.env.ROSTERD_TEST_SCREENSHOTS;
  if (folder === undefined || folder === '') return;
  mkdirSync(folder, { recursive: true });
  const path = join(folder, `${name}.png`);
  await ('context' in of ? of.screenshot({ path, fullPage: true }) : of.screenshot({ path }));
}
