import { afterAll } from 'vitest';
import { companyOf, ida, ivan, personToken, publishableKey } from './catalog.js';
import { startPlatform } from './running-platform.js';

// biome-ignore lint/suspicious/noExplicitAny: the shape of an answer is what a test finds out
export type Item = any;

export const day = 86_400_000;
export const lanterns = 'harbour-lanterns';

/** Starts a platform for the tests of a file, which read its companies as the public, as Ida and as Ivan. */
export async function companyPages() {
  const world = await startPlatform({ limits: false });
  afterAll(() => world.close());
  const key = publishableKey(world);
  const read = (slug: string, tab = '', token = key) =>
    world.get(`/companies/${companyOf(world, slug).id}${tab}`, { token });
  return {
    world,
    key,
    explorer: personToken(world, ida, 'read:explore'),
    plain: personToken(world, ivan, 'read:explore'),
    read,
    attributes: async (slug: string, tab = '', token = key): Promise<Item> =>
      (await read(slug, tab, token)).body.data.attributes,
  };
}
