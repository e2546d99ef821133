import type { Position } from '../domain/position.js';
import type { PageSeen } from './page-seen.js';

/**
 * Cursor cycle detection. Without it, a feed that returns a position it returned before, or nothing but empty pages,
 * would be read for ever.
 *
 * `mark` is compared with the position after every page, and moves to the newest position after 1, 2, 4, 8 … pages
 * (Brent's algorithm). A cycle of any length is found within three times its length, and the check stores only two
 * positions, whatever the size of the listing.
 */
export interface Advance {
  readonly mark: string | null;
  readonly sinceMark: number;
  readonly markLasts: number;
  readonly emptyInRow: number;
}

export const initialAdvance: Advance = { mark: null, sinceMark: 0, markLasts: 1, emptyInRow: 0 };

/**
 * The server may filter after paging, so empty pages are legal. 100 in a row are 10,000 records without a match, or a
 * broken feed.
 */
export const emptyPagesInRowMax = 100;

/**
 * Returns the paging state after a page with `has_more`, or a `problem` when the feed repeats a position or sends too
 * many empty pages.
 */
export function advanced(before: Advance, asked: Position, page: PageSeen): Advance | { problem: string } {
  if (page.next === tokenOf(asked) || page.next === before.mark)
    return { problem: 'stuck cursor: the feed reports more pages but repeats an earlier position' };
  const emptyInRow = page.items === 0 ? before.emptyInRow + 1 : 0;
  if (emptyInRow > emptyPagesInRowMax)
    return { problem: `the feed reports more pages, but its last ${emptyInRow} pages were empty` };
  const sinceMark = before.sinceMark + 1;
  return sinceMark < before.markLasts
    ? { ...before, sinceMark, emptyInRow }
    : { mark: page.next, sinceMark: 0, markLasts: before.markLasts * 2, emptyInRow };
}

function tokenOf(position: Position): string | null {
  if (position.kind === 'page') return position.token;
  return position.kind === 'cursor' ? position.cursor : null;
}
