import type { Applied, FeedPage, Reached } from '../../../sync/ports.js';
import { namedBy } from '../../awaiting-deletion.js';
import type { PageFacts } from '../../page-facts.js';
import { planPage, planReread } from '../../plan-page.js';
import { markReadThrough } from '../../source-row.js';
import type { Commit } from './commit.js';

/** Writes a page's rows, history, changes and notices, and the cursor after it, all in the caller's commit. */
export async function applyPage(
  commit: Commit,
  page: FeedPage,
  received: PageFacts,
  reached: Reached,
): Promise<Applied> {
  const { transaction, source } = commit;
  // Rows of an unfinished first listing are not visible yet; a delta on them would publish a partial listing.
  if (source.listed_at === null)
    throw new Error(`source ${source.name} was never listed: a delta cannot apply`);
  const facts = await commit.receive(received);
  await commit.unmark(namedBy(facts, 'delta'));
  const stored = await commit.storedRows([...facts.mentions.keys()]);
  const plan = planPage(facts.latest, (id) => stored.get(id));
  await commit.perform(plan.steps);
  const quarantined = await commit.recordAnomalies(facts);
  markReadThrough(source, page);
  source.cursor_saved_at = commit.now;
  if (reached.kind === 'following') {
    source.cursor = reached.cursor;
    transaction.send('DELETE FROM sweeps WHERE source_no = $1', source.no);
  } else {
    if (commit.locked.sweep === null) throw new Error(`source ${source.name} is not sweeping`);
    transaction.send('UPDATE sweeps SET reached = $1 WHERE source_no = $2', reached.cursor, source.no);
  }
  commit.moveTo(reached.kind);
  return commit.applied(plan.unchanged, quarantined);
}

/** Writes the records that differ, in the caller's commit. The cursor stays. */
export async function applyReread(commit: Commit, page: PageFacts): Promise<Applied> {
  const { source } = commit;
  if (source.listed_at === null)
    throw new Error(`source ${source.name} was never listed: its records cannot be read again`);
  const facts = await commit.receive(page);
  await commit.unmark(namedBy(facts, 'listing'));
  const records = facts.latest.flatMap((item) => (item.kind === 'record' ? [item] : []));
  const stored = await commit.storedRows(records.map(({ investment }) => investment.id));
  const steps = records.flatMap((item) => planReread(stored.get(item.investment.id), item) ?? []);
  await commit.perform(steps);
  return commit.applied(records.length - steps.length, await commit.recordAnomalies(facts));
}
