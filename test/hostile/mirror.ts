import { join } from 'node:path';
import Sqlite from 'better-sqlite3';
import { configFrom } from '../../src/config/config-from.js';
import { settingsSchema } from '../../src/config/settings.js';
import { startEngine } from '../../src/daemon/engine.js';
import type { SourceName } from '../../src/domain/ids.js';
import { type Clock, systemClock } from '../../src/runtime/clock.js';
import { silentLogger } from '../../src/runtime/logger.js';
import type { TickReport } from '../../src/sync/ports.js';
import { testRandom } from '../support/chance.js';
import { placeMigrated } from '../support/migrated-file.js';
import type { Where } from './platform.js';

const source = 'acme' as SourceName;

/** Does not wait between retries. Request timeouts and lease renewal stay as they are. */
const hasty: Clock = {
  ...systemClock,
  wait: (millis, signal) =>
    millis <= 6_000 ? new Promise((resolve) => setImmediate(resolve)) : systemClock.wait(millis, signal),
};

export interface Met {
  readonly report: TickReport;
  readonly held: number;
  readonly aside: number;
  readonly problems: readonly string[];
  readonly drift: number;
  /** Rows of all tables together, and the longest text in any quarantine row. */
  readonly rows: number;
  readonly bodyLengthMax: number;
  /** Entries of the page that were classified: added, changed, removed, unchanged or quarantined. */
  readonly entries: number;
}

/**
 * Runs the daemon's engine, with its real client and a real mirror in `folder`, up to the tick that meets the
 * shape.
 */
export async function meet(
  baseUrl: string,
  where: Where,
  folder: string,
  aroundTick = inOrder,
): Promise<Met> {
  const settings = settingsSchema.parse({
    platform: { baseUrl, requestsPerHour: null },
    database: 'sqlite:mirror.db',
    sources: [{ name: source, token: `at_test_${'a'.repeat(48)}`, company: 'co_1' }],
  });
  const config = configFrom(settings, { env: {}, folderOf: () => folder });
  placeMigrated(join(folder, 'mirror.db'));
  const engine = await startEngine({
    config,
    clock: hasty,
    random: testRandom(),
    logger: silentLogger,
    asksGrants: false,
  });
  try {
    if (where === 'delta') await engine.sync.tick(source, {});
    const { report } = await aroundTick(() => engine.sync.tick(source, {}));
    return { ...look(join(folder, 'mirror.db')), report, entries: entriesOf(report) };
  } finally {
    await engine.close();
  }
}

const inOrder = <Result>(work: () => Promise<Result>): Promise<Result> => work();

function entriesOf({ applied }: TickReport): number {
  return applied.added + applied.changed + applied.removed + applied.unchanged + applied.quarantined;
}

function look(file: string): Omit<Met, 'report' | 'entries'> {
  const db = new Sqlite(file, { readonly: true });
  const count = (sql: string) => db.prepare(sql).pluck().get() as number;
  try {
    const tables = db
      .prepare("SELECT name FROM sqlite_schema WHERE type = 'table'")
      .pluck()
      .all() as string[];
    return {
      held: count('SELECT count(*) FROM investments'),
      aside: count('SELECT count(*) FROM quarantine WHERE resolved_at IS NULL'),
      problems: db.prepare('SELECT DISTINCT problem FROM quarantine').pluck().all() as string[],
      drift: count('SELECT count(*) FROM drift'),
      rows: count(`SELECT ${tables.map((table) => `(SELECT count(*) FROM "${table}")`).join(' + ')}`),
      bodyLengthMax: count('SELECT coalesce(max(length(body)), 0) FROM quarantine'),
    };
  } finally {
    db.close();
  }
}
