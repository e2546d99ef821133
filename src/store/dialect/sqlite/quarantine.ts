import type { Instant } from '../../../domain/instant.js';
import { quarantineMax, uncountedDigest, uncountedProblem } from '../../anomaly-limits.js';
import type { Rejected } from '../../page-facts.js';
import { cappedBody, digestOf } from '../../quarantine-body.js';
import type { SourceRow } from '../../source-row.js';
import type { Statements } from './statements.js';

/**
 * Quarantines entries. Keeps at most one open row per id, or per content for entries without an id, so that reading an
 * entry again adds nothing. Beyond `quarantineMax`, entries are only counted, in one row. Returns the number of new
 * entries.
 */
export function quarantineEntries(
  statements: Statements,
  source: Pick<SourceRow, 'no' | 'quarantined'>,
  rejected: readonly Rejected[],
  at: Instant,
): number {
  const sourceNo = source.no;
  let opened = 0;
  // A page may have the same content twice.
  const unkept = new Set<string>();
  for (const { id, problem, body: whole } of rejected) {
    const body = cappedBody(whole);
    const key = id ?? digestOf(whole, problem);
    if (id === null) {
      const same = statements.sameQuarantine.get(sourceNo, key) ?? statements.sameBody.get(sourceNo, body);
      if (same !== undefined) {
        statements.touchQuarantine.run(problem, key, at, same);
        continue;
      }
    } else {
      const open = statements.openQuarantine.get(sourceNo, id);
      if (open !== undefined) {
        statements.updateQuarantine.run(problem, body, at, open.quarantine_no);
        continue;
      }
    }
    if (source.quarantined + opened >= quarantineMax) unkept.add(key);
    else {
      statements.insertQuarantine.run(sourceNo, id, problem, body, id === null ? key : null, at);
      opened += 1;
    }
  }
  const overflow = unkept.size;
  if (overflow > 0 && statements.countOverflow.run(overflow, at, sourceNo, uncountedDigest).changes === 0)
    statements.insertOverflow.run(sourceNo, uncountedProblem, uncountedDigest, overflow, at);
  return opened + overflow;
}

/**
 * Resolves entries for which a readable version or a tombstone arrived, and deletes their bodies, which may contain
 * names. Returns the number resolved.
 */
export function resolveReadable(
  statements: Statements,
  sourceNo: number,
  ids: readonly string[],
  at: Instant,
): number {
  let resolved = 0;
  for (const id of ids) resolved += statements.resolveQuarantine.run(at, sourceNo, id).changes;
  return resolved;
}
