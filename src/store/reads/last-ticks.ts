import type { SourceName } from '../../domain/ids.js';
import type { Instant } from '../../domain/instant.js';
import type { LastTick } from '../../sync/ports.js';
import type { Ask } from './snapshot.js';

/** More names than this are looked up with one statement that reads every source. */
const oneByOneMax = 50;

interface Row {
  readonly name: SourceName;
  readonly ended_at: Instant | null;
  readonly state: string;
}

/** Returns the last ticks of these sources; nothing for one that never ticked. */
export async function readLastTicks(
  ask: Ask,
  names: readonly SourceName[],
): Promise<ReadonlyMap<SourceName, LastTick>> {
  const rows: Row[] = [];
  if (names.length > oneByOneMax)
    rows.push(
      ...(await ask<Row>`SELECT name, last_tick_at AS ended_at, coalesce(halted_from, state) AS state FROM sources`),
    );
  else
    for (const name of names)
      rows.push(
        ...(await ask<Row>`
          SELECT name, last_tick_at AS ended_at, coalesce(halted_from, state) AS state FROM sources
          WHERE name = ${name}`),
      );
  return new Map(
    rows.flatMap(({ name, ended_at, state }) =>
      ended_at === null ? [] : [[name, { endedAt: ended_at, follows: state === 'following' }]],
    ),
  );
}
