import type { Applied, FeedPage, Reached } from '../../../sync/ports.js';
import { namedBy } from '../../awaiting-deletion.js';
import { type PageFacts, readPage } from '../../page-facts.js';
import { planPage, planReread } from '../../plan-page.js';
import { markReadThrough } from '../../source-row.js';
import type { Commit } from './commit.js';

/** Writes a page's rows, history, changes and notices, and the cursor after it, all in the caller's commit. */
export function applyPage(commit: Commit, page: FeedPage, reached: Reached): Applied {
  const { statements, source } = commit;
  // Rows of an unfinished first listing are not visible yet; a delta on them would publish a partial listing.
  if (source.listed_at === null)
    throw new Error(`source ${source.name} was never listed: a delta cannot apply`);
  const facts = commit.receive(readPage(page.items));
  commit.unmark(namedBy(facts, 'delta'));
  const plan = planPage(facts.latest, (id) => commit.storedRow(id));
  for (const step of plan.steps) commit.perform(step);
  const quarantined = commit.recordAnomalies(facts);
  markReadThrough(source, page);
  source.cursor_saved_at = commit.now;
  if (reached.kind === 'following') {
    source.cursor = reached.cursor;
    statements.deleteSweep.run(source.no);
  } else if (statements.advanceSweep.run(reached.cursor, source.no).changes === 0) {
    throw new Error(`source ${source.name} is not sweeping`);
  }
  commit.moveTo(reached.kind);
  return commit.applied(plan.unchanged, quarantined);
}

/** Writes the records that differ, in the caller's commit. The cursor stays. */
export function applyReread(commit: Commit, page: PageFacts): Applied {
  const { source } = commit;
  if (source.listed_at === null)
    throw new Error(`source ${source.name} was never listed: its records cannot be read again`);
  const facts = commit.receive(page);
  commit.unmark(namedBy(facts, 'listing'));
  let unchanged = 0;
  for (const item of facts.latest) {
    const step = item.kind === 'record' ? planReread(commit.storedRow(item.investment.id), item) : null;
    if (step === null) unchanged += 1;
    else commit.perform(step);
  }
  return commit.applied(unchanged, commit.recordAnomalies(facts));
}
