import type { Instant } from '../../../domain/instant.js';
import { quarantineMax, uncountedDigest, uncountedProblem } from '../../anomaly-limits.js';
import type { Rejected } from '../../page-anomalies.js';
import { cappedBody, digestOf } from '../../quarantine-body.js';
import type { SourceRow } from '../../source-row.js';
import type { Statements } from './statements.js';

/**
 * At most one open row for an id, and for an entry without one at most one for the same content, so that what is read
 * again adds nothing. Beyond `quarantineMax` entries are counted in one row and not kept. Returns how many entries were
 * not set aside before.
 */
export function setAside(
  statements: Statements,
  source: Pick<SourceRow, 'no' | 'quarantined'>,
  rejected: readonly Rejected[],
  at: Instant,
): number {
  const sourceNo = source.no;
  let opened = 0;
  let unkept = 0;
  for (const { id, problem, body: whole } of rejected) {
    const body = cappedBody(whole);
    const digest = id === null ? digestOf(whole, problem) : null;
    if (digest !== null) {
      const same = statements.sameQuarantine.get(sourceNo, digest) ?? statements.sameBody.get(sourceNo, body);
      if (same !== undefined) {
        statements.touchQuarantine.run(problem, digest, at, same);
        continue;
      }
    } else if (id !== null) {
      const open = statements.openQuarantine.get(sourceNo, id);
      if (open !== undefined) {
        statements.updateQuarantine.run(problem, body, at, open.quarantine_no);
        continue;
      }
    }
    if (source.quarantined + opened >= quarantineMax) unkept += 1;
    else {
      statements.insertQuarantine.run(sourceNo, id, problem, body, digest, at);
      opened += 1;
    }
  }
  if (unkept > 0 && statements.countUnkept.run(unkept, at, sourceNo, uncountedDigest).changes === 0)
    statements.insertUnkept.run(sourceNo, uncountedProblem, uncountedDigest, unkept, at);
  return opened + unkept;
}

/** A version we can read, or a tombstone, ends the case and takes the body, which may hold names, with it. */
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
