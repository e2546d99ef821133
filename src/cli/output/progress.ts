import { counted, grouped } from '../../domain/counted.js';
import type { Clock } from '../../runtime/clock.js';
import type { Stderr } from './stderr.js';
import { duration } from './words.js';

export interface ProgressState {
  readonly pages: number;
  readonly rows: number;
  /** The expected total, if known. */
  readonly rowsTotal?: number | undefined;
  /** The finished share, from 0 to 1, of work that is not counted in rows. */
  readonly share?: number;
  /** What the listings in progress still have to do, in words; it says the number of rows too. */
  readonly left?: string | undefined;
}

/** Redraws at most ten times a second; more would flicker. */
const redrawMillis = 100;
/** Interval of the lines in a log file, which show that the work continues. */
const plainLineMillis = 30_000;
const barWidth = 20;

/** Shows one rewritten line on a terminal that can do that, and a plain line every half minute elsewhere. It has no timer of its own. */
export class Progress {
  readonly #startedAt: number;
  #shownAt: number;
  #last: () => ProgressState = () => ({ pages: 0, rows: 0 });

  constructor(
    private readonly label: string,
    private readonly stream: Stderr,
    private readonly clock: Clock,
  ) {
    this.#startedAt = clock.monotonic();
    // A line of a log that says how far work had come in its first moment would be the last word on a short one.
    this.#shownAt = stream.redraws ? Number.NEGATIVE_INFINITY : this.#startedAt;
  }

  /** `state` may be a function: it is called only when the line is shown. */
  update(state: ProgressState | (() => ProgressState)): void {
    const now = this.clock.monotonic();
    this.#last = typeof state === 'function' ? state : () => state;
    if (now - this.#shownAt >= (this.stream.redraws ? redrawMillis : plainLineMillis)) {
      this.#shownAt = now;
      this.#show(now);
    }
  }

  /** Prints the last state and ends its line. */
  finish(state: ProgressState = this.#last()): void {
    this.#last = () => state;
    this.#show(this.clock.monotonic());
    this.stream.settle();
  }

  #show(now: number): void {
    const text = progressText(this.label, this.#last(), now - this.#startedAt);
    if (this.stream.redraws) this.stream.draw(text);
    else this.stream.write(`${text}\n`);
  }
}

export function progressText(label: string, state: ProgressState, workedMillis: number): string {
  const { pages, rows, rowsTotal } = state;
  const perSecond = workedMillis > 0 ? (rows * 1000) / workedMillis : 0;
  const parts = [label];
  const share = state.share ?? (rowsTotal === undefined || rowsTotal === 0 ? null : rows / rowsTotal);
  if (share !== null) parts.push(barOf(Math.min(1, share)));
  if (state.share !== undefined) return parts.join('  ');
  if (state.left !== undefined) return [...parts, state.left, counted(pages, 'page')].join('  ');
  parts.push(counted(rows, 'row') + (pages > 0 ? `, ${counted(pages, 'page')}` : ''));
  if (perSecond > 0) {
    parts.push(`${grouped(Math.round(perSecond))} rows/s`);
    if (rowsTotal !== undefined && rowsTotal > rows) {
      parts.push(`${duration(((rowsTotal - rows) / perSecond) * 1000)} left`);
    }
  }
  return parts.join('  ');
}

function barOf(share: number): string {
  const filled = Math.floor(share * barWidth);
  return `[${'#'.repeat(filled)}${'.'.repeat(barWidth - filled)}] ${Math.floor(share * 100)} %`;
}
