import type { Config } from '../config/config.js';
import { type Instant, millisOf } from '../domain/instant.js';
import type { Membership } from '../fleet/membership.js';
import type { Lifecycle } from '../runtime/lifecycle.js';
import { packageVersion } from '../runtime/package-version.js';
import { backUpApart } from '../store/back-up-apart.js';
import { dialectFor } from '../store/dialect/dialect-for.js';
import { startBackups } from './backups.js';
import type { Engine, EngineParts } from './engine.js';
import { startExports, startLake } from './publications.js';

export function scheduleBackups(
  { health }: Engine,
  { config, clock, logger }: EngineParts,
  membership: Membership,
  lifecycle: Lifecycle,
): void {
  const { database, backup } = config;
  const { everyMillis } = backup;
  if (everyMillis === null) return;
  const parts = { clock, env: process.env, version: packageVersion() };
  const dialect = dialectFor(database);
  const backups = startBackups({
    settings: { ...backup, everyMillis },
    names: dialect.backupNames,
    clock,
    logger: logger.child({ component: 'backup' }),
    register: health,
    leads: () => membership.leads,
    isFilled: () => isFilled(config),
    backUp: (target, signal) => backUpApart(database, target, { ...parts, signal }),
    announce: () => membership.tell({ kind: 'backed_up' }),
    announcedAt: () => membership.backedUpAt,
    ...ledBy(membership, config),
  });
  lifecycle.add('backups', () => backups.close());
}

/** Starts writing exports and the lake, as far as they are configured. */
export function schedulePublications(
  { health }: Engine,
  { config, clock, logger }: EngineParts,
  membership: Membership,
  lifecycle: Lifecycle,
): void {
  const parts = {
    config,
    clock,
    register: health,
    leads: () => membership.leads,
    isFilled: () => isFilled(config),
    ...ledBy(membership, config),
  };
  const exports = startExports({ ...parts, logger: logger.child({ component: 'export' }) });
  if (exports !== null) lifecycle.add('exports', () => exports.close());
  const lake = startLake({ ...parts, logger: logger.child({ component: 'lake' }) });
  if (lake !== null) lifecycle.add('lake', () => lake.close());
}

/** Returns what a daemon knows of the leader. */
const ledBy = (membership: Membership, config: Config) => ({
  isLed: () => membership.isLed,
  otherNow: () => databaseNow(config),
});

/** Returns whether the first listing of a source is complete. */
function isFilled({ database }: Config): Promise<boolean> {
  return dialectFor(database).inSnapshot(
    async (ask) => (await ask`SELECT 1 FROM sources WHERE listed_at IS NOT NULL LIMIT 1`).length > 0,
  );
}

/** Returns the time by the clock of a server; a fleet has one. */
async function databaseNow({ database }: Pick<Config, 'database'>): Promise<number> {
  const [row] = await dialectFor(database).inSnapshot(
    async (ask) => await ask<{ readonly now: Instant }>`SELECT fleet_clock() AS now`,
  );
  if (row === undefined) throw new Error('a query without FROM returned no row');
  return millisOf(row.now);
}
