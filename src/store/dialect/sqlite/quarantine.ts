import type { Instant } from '../../../domain/instant.js';
import type { Rejected } from '../../page-oddities.js';
import { cappedBody } from '../../quarantine-body.js';
import type { Statements } from './statements.js';

/**
 * At most one open row for an id, and for an entry without one at most one for the same body, so that a page
 * that is read again adds nothing. Answers how many rows were opened.
 */
export function setAside(
  statements: Statements,
  sourceNo: number,
  rejected: readonly Rejected[],
  at: Instant,
): number {
  let opened = 0;
  for (const { id, problem, body: whole } of rejected) {
    const body = cappedBody(whole);
    if (id === null) {
      const same = statements.sameQuarantine.get(sourceNo, problem, body);
      if (same !== undefined) {
        statements.touchQuarantine.run(at, same);
        continue;
      }
    } else {
      const open = statements.openQuarantine.get(sourceNo, id);
      if (open !== undefined) {
        statements.updateQuarantine.run(problem, body, at, open.quarantine_no);
        continue;
      }
    }
    statements.insertQuarantine.run(sourceNo, id, problem, body, at);
    opened += 1;
  }
  return opened;
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
