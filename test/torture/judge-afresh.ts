import { join } from 'node:path';
import { comparedRelations } from '../judges/compared-relations.js';
import { compareBySqldiff } from '../judges/sqldiff.js';
import type { Counters } from './counters.js';
import { endOf } from './deadline.js';
import { judgeStopped } from './judge.js';
import { afresh, type Place } from './place.js';
import { sqliteStorage } from './storage/sqlite-storage.js';
import { Violation } from './violation.js';

/**
 * Requires that the mirror was at rest when its daemon was stopped, and no change since. Checks what `judgeStopped`
 * checks, and where `sqldiff` is installed, that the mirror shows the same as one that is listed afresh.
 */
export async function judgeEnded(place: Place, counters: Counters): Promise<void> {
  await judgeStopped(place);
  const { sqldiff } = place.programs;
  if (sqldiff === null) return;
  // A daemon may end before it has listed companies, rounds and posts for the first time.
  for (const configuration of ['config.json', afresh.configuration]) {
    const sync = place.rosterd(['sync'], { configuration });
    const { code } = await endOf(sync);
    if (code !== 0) throw new Violation(`at the end, sync exits with ${code}: ${sync.printed()}`);
  }
  // Their figures change with each investment, and are listed at start, after events of companies and rounds, and daily.
  const relations = comparedRelations('without figures');
  const storage = sqliteStorage(join(place.folder, afresh.file));
  const { same, differences } = await place.look((lived) =>
    storage.look((fresh) =>
      compareBySqldiff(sqldiff, place.folder, relations, { lived: lived.rows, fresh: fresh.rows }),
    ),
  );
  await storage.forget();
  if (differences.length > 0)
    throw new Violation(
      ['sqldiff: a mirror listed afresh shows something else', ...differences.slice(0, 20)].join('\n  '),
    );
  if (same === 0) throw new Violation('sqldiff compared no row');
  counters.add('compared by sqldiff with a mirror listed afresh');
}
