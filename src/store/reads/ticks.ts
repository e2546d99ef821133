import type { Kysely, Selectable } from 'kysely';
import type { TicksView } from '../view-schema.js';
import type { ReadDatabase } from './views.js';

export type Tick = Selectable<TicksView>;

/** Returns the last ticks of one source, or of all, newest first. */
export function ticksOf(
  db: Kysely<ReadDatabase>,
  { source, max }: { readonly source?: string; readonly max: number },
): Promise<readonly Tick[]> {
  const all = db.selectFrom('ticks').selectAll().orderBy('tick', 'desc').limit(max);
  return (source === undefined ? all : all.where('source', '=', source)).execute();
}
