import type { SourceConfig } from '../config/config.js';
import { type Engine, type EngineParts, startEngine } from '../daemon/engine.js';
import { notListed, type Part, type PartRead, readPart } from '../daemon/read-part.js';
import { Fault } from '../domain/fault.js';
import { listCatalog } from './list-catalog.js';

export type { Part, PartRead } from '../daemon/read-part.js';

/**
 * Reads a part of each source again from the platform's listing, and replaces the stored records that differ. Each source
 * is first brought up to date; its position does not move. Throws the `Fault` that prevented it.
 */
export async function syncPart(
  parts: EngineParts,
  part: Part,
  signal: AbortSignal,
): Promise<readonly PartRead[]> {
  const engine = await startEngine({ ...parts, asksGrants: false });
  try {
    const paused = new Map((await engine.mirror.pauses.list()).map((one) => [one.source, one.paused_at]));
    const read: PartRead[] = [];
    for (const source of parts.sources ?? parts.config.sources) {
      const since = paused.get(source.name);
      if (since !== undefined)
        throw new Fault('stopped', `${source.name}: paused since ${since}`, { hint: 'rosterd resume' });
      await catchUp(source, engine);
      read.push(await readPart(source, part, parts, engine, signal));
      // A round that came with its records is unknown until it is listed.
      await listCatalog(engine, [source.name], false, signal);
    }
    return read;
  } finally {
    await engine.close();
  }
}

/** Later versions must not be replaced by what the feed still has to deliver. */
async function catchUp({ name }: SourceConfig, { sync }: Engine): Promise<void> {
  const { report, phase } = await sync.tick(name);
  if (report.outcome !== 'done')
    throw new Fault(report.code ?? 'stopped', `${name}: ${report.message ?? report.outcome}`, {
      ...(report.retryAt === null ? {} : { retryAt: report.retryAt }),
    });
  if (phase?.kind !== 'following') throw notListed(name);
}
