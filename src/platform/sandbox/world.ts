import { Fault } from '../../domain/fault.js';
import type { Random } from '../../runtime/random.js';
import { feedHead } from '../investments/queries.js';
import type { State } from '../state/database.js';
import { all, one, run } from '../state/statements.js';
import type { MovableClock } from './clock.js';
import type { SandboxRealm, WorldDocument, WorldPlan, WorldUser } from './document.js';
import { importWorld } from './import/import-world.js';
import { bytesOf } from './import/lines.js';
import { firstApplication, seedFurther } from './seed/further.js';
import { insertInBulk } from './seed/insert-in-bulk.js';
import { seedMemberships } from './seed/memberships.js';
import { seedWorld } from './seed/world.js';

export interface World {
  readonly plan: WorldPlan;
  readonly document: WorldDocument;
  /** Resets to the seeded state, including the clock. Throws, and changes nothing, if an import cannot be read again. */
  reset(): void;
}

/** Syndicates use a separate random stream, so that changes to them do not affect the rest of the world. */
const membershipStream = 0x73796e64;
const furtherStream = 0x6c697665;
const importStream = 0x696d706f;
/**
 * A new feed begins at the time of its start, and no feed grows by more than this in a millisecond. So a cursor of an
 * earlier run with the same seed, which has the same key, lies before it and is expired.
 */
const perMillis = 1000;
/** Bytes of a file with some ten thousand investments. */
const largeImport = 5_000_000;

/** The help of `rosterd sandbox` names these numbers. */
export const defaultPlan: WorldPlan = { seed: 1, companies: 2, records: 100, installed: 1, importFile: null };

interface Row {
  readonly seed: number;
  readonly companies: number;
  readonly records: number;
  readonly installed: number;
  readonly offset_millis: number;
  readonly document: string | null;
  readonly import_file: string | null;
}

/** Seeds the requested world, or continues the one in the data file. */
export function openWorld(
  state: State,
  clock: MovableClock,
  asked: Partial<WorldPlan>,
  randomFrom: (seed: number) => Random,
  progress: (investments: number) => void,
): World {
  const stored = one<Row>(state, 'SELECT * FROM sandbox');
  const plan = stored === undefined ? planFrom(asked) : requireSamePlan(stored, asked);
  if (stored !== undefined) clock.advance(stored.offset_millis);
  const make = (feedStart: number) => {
    const sandbox = seedWorld(state, randomFrom(plan.seed), plan, clock.now(), feedStart);
    state.transaction(() => seedMemberships(state, randomFrom(plan.seed ^ membershipStream), clock.now()))();
    return imported(further(sandbox));
  };
  const further = (sandbox: SandboxRealm) =>
    seedFurther(state, randomFrom(plan.seed ^ furtherStream), clock.now(), plan, sandbox);
  const imported = (document: WorldDocument): WorldDocument => {
    const { importFile: file, seed, companies: companiesBefore } = plan;
    if (file === null) return document;
    const application = firstApplication(state, document);
    const seeding = { state, random: randomFrom(seed ^ importStream), now: clock.now() };
    const insert = () => importWorld(seeding, { file, application, companiesBefore, progress });
    const { companies, founders } = state.transaction(() =>
      bytesOf(file) < largeImport ? insert() : insertInBulk(state, insert),
    )();
    return {
      ...document,
      companies: [...document.companies, ...companies],
      users: withFounders(document.users, founders),
    };
  };
  const continued = (row: Row): WorldDocument => {
    const document = storedDocument(row);
    if (document.live !== undefined) return document;
    // A file of an earlier version, which had only the sandbox realm.
    const whole = further(document);
    remember(state, plan, clock, whole);
    return whole;
  };
  let document =
    stored === undefined
      ? makeOnce(state, plan, clock, () => make(clock.now() * perMillis))
      : continued(stored);
  let resetting = false;
  clock.onMove(() => {
    // A reset commits the offset together with its world, so that a crash leaves both as they were.
    if (!resetting) run(state, 'UPDATE sandbox SET offset_millis = ?', [clock.offsetMillis]);
  });
  return {
    plan,
    get document() {
      return document;
    },
    reset: () => {
      const offset = clock.offsetMillis;
      resetting = true;
      clock.advance(-offset);
      state.pragma('foreign_keys = OFF');
      try {
        document = state.transaction(() => {
          // The feed continues after its end, so that a cursor from before the reset is recognized.
          const feedStart = feedHead(state).head + 1;
          emptyTables(state);
          const made = make(feedStart);
          remember(state, plan, clock, made);
          return made;
        })();
      } catch (error) {
        clock.advance(offset);
        throw error;
      } finally {
        resetting = false;
        state.pragma('foreign_keys = ON');
      }
    },
  };
}

/**
 * Seeds a new file with the journal in memory, because there is nothing to roll back to. The row with the plan is written
 * before, so that a file left half-seeded is detected.
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
  state.pragma('foreign_keys = OFF');
  let document: WorldDocument;
  try {
    document = state.transaction(make)();
    remember(state, plan, clock, document);
  } catch (error) {
    // Nothing of the world was kept, so the file can be used again.
    run(state, 'DELETE FROM sandbox');
    throw error;
  }
  state.pragma('foreign_keys = ON');
  state.pragma('synchronous = NORMAL');
  state.pragma('journal_mode = WAL');
  return document;
}

/** The last two users are the investors of the ready document, which programs find at the end. */
const withFounders = (users: readonly WorldUser[], founders: readonly WorldUser[]): readonly WorldUser[] => [
  ...users.slice(0, -2),
  ...founders,
  ...users.slice(-2),
];

function remember(state: State, plan: WorldPlan, clock: MovableClock, document: WorldDocument | null): void {
  run(
    state,
    `INSERT OR REPLACE INTO sandbox (no, seed, companies, records, installed, offset_millis, document, import_file)
     VALUES (1, ?, ?, ?, ?, ?, ?, ?)`,
    [
      plan.seed,
      plan.companies,
      plan.records,
      plan.installed,
      clock.offsetMillis,
      document === null ? null : JSON.stringify(document),
      plan.importFile,
    ],
  );
}

/** A file of an earlier version has only the sandbox realm. */
type EarlierDocument = SandboxRealm & { readonly live?: undefined };
type StoredDocument = WorldDocument | EarlierDocument;

function storedDocument(stored: Row): StoredDocument {
  if (stored.document !== null) {
    // The list is newer than the live realm.
    return Object.assign({ uninstalled: [] }, JSON.parse(stored.document)) as StoredDocument;
  }
  throw new Fault('usage', 'the data file has a half-seeded world', {
    hint: 'Delete the file, or give another --data file.',
  });
}

function planFrom(asked: Partial<WorldPlan>): WorldPlan {
  return {
    seed: asked.seed ?? defaultPlan.seed,
    companies: asked.companies ?? defaultPlan.companies,
    records: asked.records ?? defaultPlan.records,
    installed: asked.installed ?? defaultPlan.installed,
    importFile: asked.importFile ?? defaultPlan.importFile,
  };
}

/** Returns the plan of the data file. Throws if the options ask for a different world. */
function requireSamePlan(stored: Row, asked: Partial<WorldPlan>): WorldPlan {
  for (const key of ['seed', 'companies', 'records', 'installed'] as const) {
    const wanted = asked[key];
    if (wanted !== undefined && wanted !== stored[key]) {
      throw new Fault('usage', `the data file has a world with ${key} ${stored[key]}, not ${wanted}`, {
        hint: `Omit --${key} to continue that world, or give another --data file.`,
      });
    }
  }
  const { import_file: importFile } = stored;
  if (asked.importFile != null && asked.importFile !== importFile) {
    const held = importFile === null ? 'without an import' : `that imported ${importFile}`;
    throw new Fault('usage', `the data file has a world ${held}, not ${asked.importFile}`, {
      hint: 'Omit --import to continue that world, or give another --data file.',
    });
  }
  const { seed, companies, records, installed } = stored;
  return { seed, companies, records, installed, importFile };
}

/** Empties every table except the migrations. */
function emptyTables(state: State): void {
  const tables = all<{ name: string }>(
    state,
    `SELECT name FROM sqlite_master WHERE type = 'table' AND name <> 'migrations' AND name NOT LIKE 'sqlite_%'`,
  );
  // The table names come from the schema, not from user input.
  for (const { name } of tables) state.exec(`DELETE FROM "${name}"`);
}
