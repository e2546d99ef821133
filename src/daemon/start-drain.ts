import { defined } from '../domain/defined.js';
import type { Membership } from '../fleet/membership.js';
import { createDrain, type Drain } from '../inbox/drain.js';
import type { Clock } from '../runtime/clock.js';
import type { Lifecycle } from '../runtime/lifecycle.js';
import type { Logger } from '../runtime/logger.js';
import type { Engine, EngineParts } from './engine.js';
import { othersOf } from './start-work.js';

/** Connects the inbox to the ticks of the sources its deliveries concern. `lifecycle` closes the drain. */
export function openDrain(
  { mirror, sync, sources }: Engine,
  membership: Membership,
  { clock, logger }: { readonly clock: Clock; readonly logger: Logger },
  lifecycle: Lifecycle,
): Drain {
  const others = othersOf(membership);
  const drain = createDrain({
    inbox: mirror.inbox,
    ticks: {
      nudge: (source) => sync.nudge(source),
      onTick: (listener) =>
        sync.onTick((source, { report, publishedThrough }) =>
          listener(source, {
            done: report.outcome === 'done',
            startedAt: report.startedAt,
            publishedThrough,
          }),
        ),
    },
    sources: sources.all.map(({ name }) => name),
    ...defined({ others }),
    clock,
    logger: logger.child({ component: 'inbox' }),
  });
  lifecycle.add('drain', () => drain.close());
  lifecycle.add(
    'sources of the drain',
    sources.onChange(({ added, removed }) => {
      drain.added(added);
      drain.removed(removed);
    }),
  );
  return drain;
}

/** Starts a drain for a daemon without a receiver: members of a fleet share one inbox. Null outside a fleet. */
export async function startDrainAlone(
  engine: Engine,
  parts: EngineParts,
  membership: Membership,
  lifecycle: Lifecycle,
): Promise<Drain | null> {
  if (othersOf(membership) === undefined) return null;
  const drain = openDrain(engine, membership, parts, lifecycle);
  await drain.start();
  return drain;
}
