import { afterAll } from 'vitest';
import { run } from '../../src/platform/state/statements.js';
import { companyOf, ida, personToken, publishableKey, roundOf } from './catalog.js';
import { startPlatform, worldStart } from './running-platform.js';

// biome-ignore lint/suspicious/noExplicitAny: the shape of an answer is what a test finds out
export type Item = any;

export const day = 86_400_000;

export const names = (items: readonly Item[]): string[] => items.map((item) => item.attributes.company_name);

/** Starts a platform for the tests of a file, which read its catalog as the public and as Ida. */
export async function offeringPages() {
  const world = await startPlatform({ limits: false });
  afterAll(() => world.close());
  const key = publishableKey(world);
  const read = (path: string, token = key) => world.get(path, { token });
  return {
    world,
    key,
    explorer: personToken(world, ida, 'read:explore'),
    read,
    listed: async (query = '', token = key) => names((await read(`/explore${query}`, token)).body.data),
    attributesOf: (slug: string, index: number, token = key) =>
      read(`/offerings/${roundOf(world, slug, index).id}`, token).then(
        (answer) => answer.body.data.attributes,
      ),
    /** Returns the companies of the seed, each with a round that was closed at the same time, by the id of that round. */
    closedOfSandbox: (): readonly string[] =>
      world.ready.companies
        .map(({ name, offerings }) => ({ name, closed: offerings.at(-1) ?? '' }))
        .sort((a, b) => (a.closed < b.closed ? -1 : 1))
        .map(({ name }) => name),
    /** Adds a private round beside the public one of a company, newer than it. */
    privateRound: (slug: string, id: string) => {
      const { state } = world.services;
      const { no } = run(
        state,
        `INSERT INTO offerings (id, company_no, started_at, created_at) VALUES (?, ?, ?, ?)`,
        [id, companyOf(world, slug).no, worldStart, worldStart],
      );
      run(
        state,
        `INSERT INTO offering_terms (offering_no, exemption, exemption_subtype) VALUES (?, 'reg_d', '506b')`,
        [no],
      );
      return {
        no,
        remove: () => {
          run(state, 'DELETE FROM offering_terms WHERE offering_no = ?', [no]);
          run(state, 'DELETE FROM offerings WHERE no = ?', [no]);
        },
      };
    },
  };
}
