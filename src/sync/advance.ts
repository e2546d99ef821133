import type { Position } from '../domain/position.js';
import type { PageSeen } from './page-seen.js';

/**
 * Proof that paging gets somewhere. A feed that hands out the same position again, at once or after a detour,
 * would be read for ever, and so would one that sends nothing but empty pages.
 *
 * `mark` is compared with every position handed out and moves to the newest one after 1, 2, 4, 8 … pages
 * (Brent's cycle detection): a detour of any length is found within three times its length, and remembering
 * two positions is enough for a listing of any size.
 */
export interface Advance {
  readonly mark: string | null;
  readonly sinceMark: number;
  readonly markLasts: number;
  readonly emptyInRow: number;
}

export const atRest: Advance = { mark: null, sinceMark: 0, markLasts: 1, emptyInRow: 0 };

/** A filter may leave many pages empty; 100 in a row are 10,000 records without one hit, or a broken feed. */
export const emptyPagesInRowMax = 100;

/** The paging state behind a page that says there is more, or what is wrong with it. */
export function advanced(before: Advance, asked: Position, page: PageSeen): Advance | { problem: string } {
  if (page.next === tokenOf(asked) || page.next === before.mark)
    return { problem: 'stuck cursor: the feed says there is more and hands out a position it gave before' };
  const emptyInRow = page.items === 0 ? before.emptyInRow + 1 : 0;
  if (emptyInRow > emptyPagesInRowMax)
    return { problem: `the feed says there is more, but its last ${emptyInRow} pages were empty` };
  const sinceMark = before.sinceMark + 1;
  return sinceMark < before.markLasts
    ? { ...before, sinceMark, emptyInRow }
    : { mark: page.next, sinceMark: 0, markLasts: before.markLasts * 2, emptyInRow };
}

function tokenOf(position: Position): string | null {
  if (position.kind === 'page') return position.token;
  return position.kind === 'cursor' ? position.cursor : null;
}
