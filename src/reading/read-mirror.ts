import { Fault } from '../domain/fault.js';
import { oneOf } from '../domain/one-of.js';
import type { readMirror } from '../store/reads/read-mirror.js';

export type { DatabaseLocation } from '../store/database-location.js';
export { readMirror } from '../store/reads/read-mirror.js';

/** Throws `usage` for a source the mirror does not have: an empty result would look like an empty source. */
export async function requireSource(db: MirrorReader, name: string | undefined): Promise<void> {
  if (name === undefined) return;
  const known = await db.selectFrom('sources').select('name').orderBy('name').execute();
  if (known.some((source) => source.name === name)) return;
  throw new Fault('usage', `the mirror has no source called ${JSON.stringify(name)}`, {
    hint: oneOfSources(known.map((source) => source.name)),
  });
}

/** A hint names this many sources. */
const namesMax = 20;

/** Returns a hint with the names of sources, or with the command that finds one of many. */
export const oneOfSources = (names: readonly string[]): string =>
  names.length > namesMax ? 'rosterd sources list' : oneOf(names, 'rosterd sync');

/** A connection that cannot write, with every table and view of the mirror typed. */
export type MirrorReader = Parameters<Parameters<typeof readMirror>[1]>[0];
