import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Locator, Page } from 'playwright-core';

const folderOfPictures = () => process.env.ROSTERD_TEST_SCREENSHOTS ?? '';

export const takesPictures = (): boolean => folderOfPictures() !== '';

/** Takes a screenshot if ROSTERD_TEST_SCREENSHOTS names a folder, for a person to look at. */
export async function picture(of: Page | Locator, name: string): Promise<void> {
  if (!takesPictures()) return;
  const folder = folderOfPictures();
  mkdirSync(folder, { recursive: true });
  const path = join(folder, `${name}.png`);
  await ('context' in of ? of.screenshot({ path, fullPage: true }) : of.screenshot({ path }));
}
