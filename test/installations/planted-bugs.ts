import { bug } from '../support/planting.js';

const folder = 'src/installations';

/** Bugs in following that the simulation of it has to find. */
export const plantedFollowingBugs = [
  bug(
    'a listing that lacks an installation ends its source although its token works',
    `${folder}/rule-follower.ts`,
    '!(await rule.api.accepts(token, signal));',
    'true;',
  ),
  bug(
    'the request for a token is not counted',
    `${folder}/plan-following.ts`,
    'return { ...before, mints: before.mints + 1, lastMintAt: instantFromMillis(now) };',
    'return { ...before, lastMintAt: null };',
  ),
  bug(
    'a source is connected before its token is stored',
    `${folder}/obtain-tokens.ts`,
    'await vault.write(tokenKey(row.installation), minted.token);',
    'setTimeout(() => void vault.write(tokenKey(row.installation), minted.token).catch(() => {}), 0);',
  ),
  bug(
    'the token of a revoked installation is kept',
    `${folder}/rule-follower.ts`,
    'if (before !== null && !isOpen(next) && !remaining.has(installation))',
    'if (before === null && !isOpen(next))',
  ),
  bug(
    'tokens that a crash left behind are not removed at the start',
    `${folder}/installation-follower.ts`,
    'if (this.#hasSwept || clock.monotonic() < this.#sweepFrom) return;',
    'return;',
  ),
  bug(
    'a new installation of a company becomes another source',
    `${folder}/plan-following.ts`,
    'new Map(rowsOf(rule, known).map((row) => [row.target, row]))',
    'new Map(rowsOf(rule, known).filter(isOpen).map((row) => [row.target, row]))',
  ),
  bug(
    'a revoked company is never erased',
    `${folder}/plan-following.ts`,
    "return reason === 'forgotten' || (now !== null && eraseAfter !== null && millisOf(eraseAfter) <= now);",
    'return false;',
  ),
  bug(
    'a revoked company is erased before its time',
    `${folder}/installation-follower.ts`,
    'const due = this.#book.rows().filter((row) => isErasureDue(row, now) && isRested(row.source));',
    'const due = this.#book.rows().filter((row) => isErasureDue(row, now + 86_400_000) && isRested(row.source));',
  ),
  bug(
    'a refused token is not replaced',
    `${folder}/rule-follower.ts`,
    'await book.save([{ before: now, next: tokenRefused(now) }]);',
    '[];',
  ),
  bug(
    'a revocation is not noticed',
    `${folder}/plan-following.ts`,
    'const end = ended.get(before.installation);',
    'const end = undefined;',
  ),
];
