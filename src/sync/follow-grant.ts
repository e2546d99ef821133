import type { Interruption } from '../runtime/interruption.js';
import type { Logger } from '../runtime/logger.js';
import type { GrantAnswer } from './grant-check.js';
import type { Lease, Mirror, SyncSource } from './ports.js';

export interface GrantParts {
  readonly mirror: Pick<Mirror, 'loseIdentity' | 'regainIdentity'>;
  readonly logger: Logger;
  readonly lease: Lease;
  /** Whether identity was included as far as known when the tick began. */
  readonly identityIncluded: boolean;
}

/**
 * Asks the platform whether the token may read identity, and makes the mirror follow. Records already held say nothing
 * when a scope is taken away, and none has to arrive for weeks. That this could not be asked is no reason for a tick to
 * fail that read everything; it is asked again soon.
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
      logger.warn({}, 'the token may not read identity any more: what was held of it is erased');
    if (granted !== true || identityIncluded || !(await mirror.regainIdentity(lease))) return 'followed';
    logger.info({}, 'the token may read identity again: everything is listed again for the names');
    return 'regained';
  } catch (error) {
    logger.debug({ error }, 'whether identity may be read could not be asked');
    return 'failed';
  }
}
