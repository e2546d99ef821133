import type { Config } from '../config/config.js';
import { openReader } from '../store/reads/open-reader.js';
import { agreeOnForgotten } from './forgotten-ledger.js';
import type { OpenMirror, OpenMirrorParts } from './mirror-parts.js';

/** Returns what the configuration says about storing identities. */
export const identityRules = ({
  identity,
  follows,
}: Pick<Config, 'identity' | 'follows'>): Pick<OpenMirrorParts, 'identity' | 'namelessRules'> => ({
  identity,
  namelessRules: follows.flatMap(({ rule, identity: ofRule }) => (ofRule === 'drop' ? [rule] : [])),
});

/** Opens and migrates. Throws `database_unusable`, `database_busy`, `database_full`, and leaves nothing open then. */
export async function openMirror(database: Config['database'], parts: OpenMirrorParts): Promise<OpenMirror> {
  if (parts.existing === true) await (await openReader(database)).close();
  return await withErasuresApplied(await openOf(database, parts), parts);
}

/** Applies the erasures of the ledger and of the configuration before anything else uses the mirror. */
export async function withErasuresApplied(mirror: OpenMirror, parts: OpenMirrorParts): Promise<OpenMirror> {
  try {
    await applyErasures(mirror, parts);
    return mirror;
  } catch (error) {
    await mirror.close();
    throw error;
  }
}

/** Loads only the driver of this database, to keep the start short. */
async function openOf(database: Config['database'], parts: OpenMirrorParts): Promise<OpenMirror> {
  if (database.kind === 'sqlite') {
    const { openSqliteMirror } = await import('./open-sqlite-mirror.js');
    return openSqliteMirror(database, parts);
  }
  const { openPostgresMirror } = await import('./open-postgres-mirror.js');
  return await openPostgresMirror(database, parts);
}

async function applyErasures(
  { erasures, upkeep }: OpenMirror,
  { ledger, logger, identity, namelessRules = [] }: OpenMirrorParts,
): Promise<void> {
  const recalled = await agreeOnForgotten(ledger, erasures);
  if (recalled > 0) {
    try {
      upkeep.removeBackups(Number.POSITIVE_INFINITY);
    } catch (error) {
      // Tried again before the scrub of these erasures.
      logger.warn({ component: 'erasure', error }, 'backups with erased identities remain');
    }
    logger.warn(
      { component: 'erasure', count: recalled },
      'this database, probably a restored backup, contained forgotten people: they are erased again',
    );
  }
  const dropOf = (rules: readonly string[]) => (rules.length === 0 ? 0 : erasures.dropFollowed(rules));
  const dropped = identity === 'drop' ? await erasures.dropAll() : await dropOf(namelessRules);
  if (dropped > 0)
    logger.info({ component: 'erasure' }, 'identity kept by an earlier configuration is erased');
}
