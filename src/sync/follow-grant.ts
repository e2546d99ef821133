import type { Interruption } from '../runtime/interruption.js';
import type { Logger } from '../runtime/logger.js';
import type { GrantAnswer } from './grant-check.js';
import type { Lease, Mirror, SyncSource } from './ports.js';

export interface GrantParts {
  readonly mirror: Pick<Mirror, 'loseIdentity' | 'regainIdentity'>;
  readonly logger: Logger;
  readonly lease: Lease;
  /** Whether the grant included identity when the tick began, as far as known. */
  readonly identityIncluded: boolean;
}

/**
 * Asks the platform whether the token may read identity, and updates the mirror to match. Stored records do not
 * change when a scope is withdrawn, and a new one may not arrive for weeks, so the grant has to be asked for. A
 * failure to ask does not fail a tick that read everything; the check is retried soon.
 */
export async function followGrant(
  { mayReadIdentity }: SyncSource,
  { mirror, logger, lease, identityIncluded }: GrantParts,
  signal: Interruption,
): Promise<GrantAnswer> {
  if (mayReadIdentity === undefined || signal.aborted) return 'not_asked';
  try {
    const granted = await mayReadIdentity(signal);
    if (granted === false && (await mirror.loseIdentity(lease)))
      logger.warn({}, 'names may no longer be read or kept: stored identity is erased');
    if (granted !== true || identityIncluded || !(await mirror.regainIdentity(lease))) return 'followed';
    logger.info({}, 'the token may read identity again: a relisting fetches the names');
    return 'regained';
  } catch (error) {
    logger.debug({ error }, 'could not check whether the token may read identity');
    return 'failed';
  }
}
