import type { Membership } from '../fleet/membership.js';
import type { Lifecycle } from '../runtime/lifecycle.js';
import type { Engine, EngineParts } from './engine.js';
import { obeyPauses } from './pause-watch.js';
import type { RequestWatch } from './request-watch.js';
import { SourceHolds } from './source-holds.js';

/**
 * Obeys pauses and performs what operators ask for at a console, until `lifecycle` closes. Returns once the pauses that are
 * in force now are obeyed. The watch over requests is null where no console can make one. `onLead` does what is due for a
 * leader.
 */
export async function obeyOperators(
  engine: Engine,
  parts: EngineParts,
  membership: Membership,
  lifecycle: Lifecycle,
  { hasConsole, onLead }: { readonly hasConsole: boolean; readonly onLead: () => void },
): Promise<RequestWatch | null> {
  const holds = new SourceHolds(engine.sync);
  await obeyPauses({ ...engine, sync: holds }, parts, lifecycle);
  // Requests come from the console of this process, or from that of another member of the fleet.
  if (!hasConsole && engine.mirror.fleet === null) return null;
  const { watchRequests } = await import('./request-watch.js');
  const watched = watchRequests({
    config: parts.config,
    engine,
    holds,
    worksHere: (source) => membership.worksHere(source),
    onChanged: () => (membership.leads ? onLead() : membership.tell({ kind: 'committed' })),
    clock: parts.clock,
    logger: parts.logger.child({ component: 'console' }),
  });
  lifecycle.add('watch over requests', () => watched.close());
  return watched;
}
