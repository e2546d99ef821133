import type { Config } from '../config/config.js';
import type { Clock } from '../runtime/clock.js';
import type { HealthReport } from '../runtime/health-register.js';
import { dialectFor } from '../store/dialect/dialect-for.js';
import { readFleet } from '../store/reads/fleet.js';
import type { Snapshots } from '../store/reads/snapshot.js';
import { type JudgedSource, readJudgedSources } from '../store/reads/source-facts.js';
import type { Vault } from '../vault/ports.js';
import { backupsSeen } from './backups.js';
import {
  endpointHealth,
  type FullStatus,
  publicationsSeen,
  sourcesElsewhere,
  staleMillisOf,
  statusWanted,
} from './status.js';

/** What decides about alerts: every source, with its judgement only. */
export interface JudgedStatus
  extends Pick<FullStatus, 'endpoint' | 'backup' | 'exports' | 'lake' | 'problems'> {
  readonly sources: readonly JudgedSource[];
  /** How long after its last tick a source is overdue. */
  readonly staleMillis: number;
}

/** `config` has the sources that rules added, too. */
export async function judgedStatusOf(
  snapshots: Snapshots,
  clock: Clock,
  config: Config,
  problems: readonly HealthReport[],
  vault?: Vault,
): Promise<JudgedStatus> {
  const { shared } = dialectFor(config.database);
  const now = clock.now();
  const sources = await snapshots.take(async (ask) => {
    const elsewhere = sourcesElsewhere(shared ? await readFleet(ask) : null);
    return await readJudgedSources(ask, now, { ...statusWanted(config), elsewhere, problems });
  });
  return {
    sources,
    staleMillis: staleMillisOf(config, config.sources.length),
    endpoint: await endpointHealth(config, clock, vault),
    backup: backupsSeen(config, now),
    ...(await publicationsSeen(config, now)),
    problems,
  };
}
