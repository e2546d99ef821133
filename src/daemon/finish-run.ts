import { deliverDue } from '../outbox/deliver.js';
import type { PendingErasures } from '../store/erasures.js';
import type { Engine, EngineParts } from './engine.js';
import { maintenanceOf } from './maintenance.js';
import { noticeTargets } from './notices.js';
import { scrubOnce } from './scrub-once.js';
import type { SourceResult } from './source-result.js';

export interface RunEnd {
  readonly results: readonly SourceResult[];
  /** Whether the scrub may block the event loop, which is faster for a small file. */
  readonly mayBlock: boolean;
  /** Whether erased bytes are scrubbed now. Absent: whenever there are any. */
  isScrubDue?(pending: PendingErasures): boolean;
}

/**
 * What a run without a daemon does after its ticks: sends the notices they queued, and scrubs erased bytes.
 * What cannot be done now waits for the next run.
 */
export async function finishRun(
  engine: Pick<Engine, 'mirror'>,
  parts: EngineParts,
  { results, mayBlock, isScrubDue = () => true }: RunEnd,
  signal: AbortSignal,
): Promise<void> {
  const { clock, logger, config } = parts;
  await deliverOnce(engine, parts, signal);
  // The process that holds a source scrubs as well, and two scrubs would only block each other.
  if (results.some(({ report }) => report.code === 'lease_lost')) return;
  const { pending, removeBackups, scrub, scrubAlone, words } = maintenanceOf(config, engine.mirror);
  if (!isScrubDue(await pending())) return;
  const scrubbing = { pending, removeBackups, scrub: mayBlock ? scrubAlone : scrub, words, clock };
  await scrubOnce({ ...scrubbing, logger: logger.child({ component: 'erasure' }) }, signal);
}

async function deliverOnce(
  { mirror }: Pick<Engine, 'mirror'>,
  { config, clock, random, logger }: EngineParts,
  signal: AbortSignal,
): Promise<void> {
  if (config.notices.length === 0) return;
  const { targets, close } = noticeTargets(config, clock);
  try {
    await deliverDue({ outbox: mirror.outbox, targets, clock, random, logger }, signal);
  } finally {
    await close();
  }
}
