import { Fault } from '../../domain/fault.js';
import type { Random } from '../../runtime/random.js';
import type { State } from '../state/database.js';
import { all, one, run } from '../state/statements.js';
import type { MovableClock } from './clock.js';
import type { WorldDocument, WorldPlan } from './document.js';
import { seedMemberships } from './seed/memberships.js';
import { seedWorld } from './seed/world.js';

export interface World {
  readonly plan: WorldPlan;
  readonly document: WorldDocument;
  /** Back to the seed: everything that happened since is forgotten, moves of the clock included. */
  reset(): void;
}

/** Syndicates draw from a stream of their own: what is added to them moves nothing else. */
const membershipStream = 0x73796e64;

const defaultPlan: WorldPlan = { seed: 1, companies: 2, records: 100 };

interface Row {
  readonly seed: number;
  readonly companies: number;
  readonly records: number;
  readonly offset_millis: number;
  readonly document: string | null;
}

/** Makes the world the options ask for, or continues the one the data file holds. */
export function openWorld(
  state: State,
  clock: MovableClock,
  asked: Partial<WorldPlan>,
  randomFrom: (seed: number) => Random,
): World {
  const held = one<Row>(state, 'SELECT * FROM sandbox');
  const plan = held === undefined ? planFrom(asked) : agree(held, asked);
  if (held !== undefined) clock.advance(held.offset_millis);
  const make = () => {
    const document = seedWorld(state, randomFrom(plan.seed), plan, clock.now());
    state.transaction(() => seedMemberships(state, randomFrom(plan.seed ^ membershipStream), clock.now()))();
    return document;
  };
  const document = held === undefined ? makeOnce(state, plan, clock, make) : heldDocument(held);
  clock.onMove(() => run(state, 'UPDATE sandbox SET offset_millis = ?', [clock.offsetMillis]));
  return {
    plan,
    document,
    reset: () => {
      clock.advance(-clock.offsetMillis);
      state.pragma('foreign_keys = OFF');
      state.transaction(() => {
        emptyTables(state);
        remember(state, plan, clock, make());
      })();
      state.pragma('foreign_keys = ON');
    },
  };
}

/**
 * A new file needs no journal on disk: there is nothing to roll back to. The row that says what is being made is
 * written before the journal goes, so a file left behind half made is known as one.
 */
function makeOnce(
  state: State,
  plan: WorldPlan,
  clock: MovableClock,
  make: () => WorldDocument,
): WorldDocument {
  remember(state, plan, clock, null);
  state.pragma('cache_size = -262144');
  state.pragma('journal_mode = MEMORY');
  state.pragma('synchronous = OFF');
  const document = make();
  remember(state, plan, clock, document);
  state.pragma('synchronous = NORMAL');
  state.pragma('journal_mode = WAL');
  return document;
}

function remember(state: State, plan: WorldPlan, clock: MovableClock, document: WorldDocument | null): void {
  run(
    state,
    'INSERT OR REPLACE INTO sandbox (no, seed, companies, records, offset_millis, document) VALUES (1, ?, ?, ?, ?, ?)',
    [
      plan.seed,
      plan.companies,
      plan.records,
      clock.offsetMillis,
      document === null ? null : JSON.stringify(document),
    ],
  );
}

function heldDocument(held: Row): WorldDocument {
  if (held.document !== null) return JSON.parse(held.document) as WorldDocument;
  throw new Fault('usage', 'the data file holds a world that was never finished', {
    hint: 'Delete the file, or give another --data file.',
  });
}

function planFrom(asked: Partial<WorldPlan>): WorldPlan {
  return {
    seed: asked.seed ?? defaultPlan.seed,
    companies: asked.companies ?? defaultPlan.companies,
    records: asked.records ?? defaultPlan.records,
  };
}

/** A data file is one world; asking it for another one is a mistake that must not end in a mixture. */
function agree(held: Row, asked: Partial<WorldPlan>): WorldPlan {
  for (const key of ['seed', 'companies', 'records'] as const) {
    const wanted = asked[key];
    if (wanted !== undefined && wanted !== held[key]) {
      throw new Fault('usage', `the data file holds a world with ${key} ${held[key]}, not ${wanted}`, {
        hint: `Leave --${key} out to continue that world, or give another --data file.`,
      });
    }
  }
  return { seed: held.seed, companies: held.companies, records: held.records };
}

/** Every table but the record of migrations, whichever feature it belongs to. */
function emptyTables(state: State): void {
  const tables = all<{ name: string }>(
    state,
    `SELECT name FROM sqlite_master WHERE type = 'table' AND name <> 'migrations' AND name NOT LIKE 'sqlite_%'`,
  );
  // Table names come from the schema, not from outside.
  for (const { name } of tables) state.exec(`DELETE FROM "${name}"`);
}
