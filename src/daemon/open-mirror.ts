import type { Config } from '../config/config.js';
import { openReader } from '../store/reads/open-reader.js';
import { agreeOnForgotten } from './forgotten-ledger.js';
import type { OpenMirror, OpenMirrorParts } from './mirror-parts.js';

/** Opens and migrates. Throws `database_unusable`, `database_busy`, `database_full`; then nothing is left open. */
export async function openMirror(database: Config['database'], parts: OpenMirrorParts): Promise<OpenMirror> {
  if (parts.existing === true) await (await openReader(database)).close();
  return await asTold(await openOf(database, parts), parts);
}

/** Erases whom the ledger or the configuration says must not be known here, before anything else is done. */
export async function asTold(mirror: OpenMirror, parts: OpenMirrorParts): Promise<OpenMirror> {
  try {
    await eraseAsTold(mirror, parts);
    return mirror;
  } catch (error) {
    await mirror.close();
    throw error;
  }
}

/** Only the driver that is needed is loaded: PostgreSQL's takes a tenth of the time until `run` follows. */
async function openOf(database: Config['database'], parts: OpenMirrorParts): Promise<OpenMirror> {
  if (database.kind === 'sqlite') {
    const { openSqliteMirror } = await import('./open-sqlite-mirror.js');
    return openSqliteMirror(database, parts);
  }
  const { openPostgresMirror } = await import('./open-postgres-mirror.js');
  return await openPostgresMirror(database, parts);
}

async function eraseAsTold(
  { erasures, upkeep }: OpenMirror,
  { ledger, logger, identity }: OpenMirrorParts,
): Promise<void> {
  const recalled = await agreeOnForgotten(ledger, erasures);
  if (recalled > 0) {
    upkeep.removeBackups(Number.POSITIVE_INFINITY);
    logger.warn(
      { component: 'erasure', count: recalled },
      'this database knew people who are forgotten, as an old copy does: they are erased again',
    );
  }
  if (identity === 'drop' && (await erasures.dropAll()) > 0)
    logger.info({ component: 'erasure' }, 'identity kept by an earlier configuration is erased');
}
