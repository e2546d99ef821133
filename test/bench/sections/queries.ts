import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Sqlite from 'better-sqlite3';
import { documentedQueries } from '../../../src/store/documented-queries.js';
import { bareQueries, bareTables } from '../bare-queries.js';
import { type Measure, median, ratio, type Section, times } from '../measures.js';
import { type RunningFeed, withFeed } from '../processes.js';
import { openProduct, productFile, tickOf } from '../product.js';

/** A query is repeated for about this long in each round, because a fast one is too short for the clock. */
const millisARound = 40;
const repeatsMax = 200;

export const queries: Section = {
  name: 'queries',
  each: true,
  says:
    'Each documented query compared with the best hand-written form on a bare table with a dedicated index, over the same ' +
    'rows, in one process and in turns. Both must return the same.',
  measure: (scale, records) =>
    withFeed(scale, records, async (feed) => {
      const folder = mkdtempSync(join(tmpdir(), 'rosterd-bench-queries-'));
      try {
        const listedBy = await fill(feed, folder, Math.min(1_000, records / 2));
        return compare(folder, scale.rounds, listedBy);
      } finally {
        rmSync(folder, { recursive: true, force: true });
      }
    }),
};

/**
 * Runs a first listing, then changes and withdrawals, so that history and the change feed have rows. Returns a
 * time between the two, for queries about the past.
 */
async function fill(feed: RunningFeed, folder: string, changes: number): Promise<string> {
  const engine = await openProduct(feed.url, folder);
  await tickOf(engine);
  const listedBy = new Date().toISOString();
  for (let no = 0; no < changes; no += 1) await feed.change(no * 3, no % 5 === 0);
  await tickOf(engine);
  await engine.close();
  const bare = new Sqlite(join(folder, 'bare.db'));
  bare.prepare('ATTACH ? AS mirror').run(join(folder, productFile));
  bare.exec(bareTables);
  bare.close();
  return listedBy;
}

/** The literal time in the documented query. */
const past = '2026-10-15T00:00:00.000Z';

function compare(folder: string, rounds: number, listedBy: string): Measure[] {
  const mirror = new Sqlite(join(folder, productFile), { readonly: true });
  const bare = new Sqlite(join(folder, 'bare.db'), { readonly: true });
  try {
    return documentedQueries.map(({ name, sql }) => {
      const hand = bareQueries[name];
      if (hand === undefined) throw new Error(`write the best form of "${name}" into bare-queries.ts`);
      const [ours, theirs] = [
        mirror.prepare(sql.replaceAll(past, listedBy)).raw(),
        bare.prepare(hand.replaceAll(past, listedBy)).raw(),
      ];
      // Also warms up both. The roster page does not define the order of equal ids, so it may differ.
      const began = performance.now();
      const [answer, wanted] = [ours.all(), theirs.all()].map((rows) => JSON.stringify(rows));
      if (name !== 'roster-page' && answer !== wanted)
        throw new Error(`"${name}" and its hand-written form return different rows: ${answer}, ${wanted}`);
      const once = Math.max(0.001, (performance.now() - began) / 2);
      const repeats = Math.min(repeatsMax, Math.max(3, Math.ceil(millisARound / once)));
      const took = times(rounds).map(() => inTurns([ours, theirs], repeats));
      return ratio(
        name,
        took.map(([our = Number.NaN]) => our),
        took.map(([, their = Number.NaN]) => their),
        { most: 1.3 },
      );
    });
  } finally {
    mirror.close();
    bare.close();
  }
}

/** Returns the median of each. */
function inTurns(statements: readonly { all(): unknown }[], repeats: number): number[] {
  const took = statements.map((): number[] => []);
  for (let repeat = 0; repeat < repeats; repeat += 1) {
    for (const [at, statement] of statements.entries()) {
      const began = performance.now();
      statement.all();
      took[at]?.push(performance.now() - began);
    }
  }
  return took.map(median);
}
