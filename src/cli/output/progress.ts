import { counted, grouped } from '../../domain/counted.js';
import { instantFromMillis } from '../../domain/instant.js';
import type { Clock } from '../../runtime/clock.js';
import type { Talk } from './stderr.js';
import { duration } from './words.js';

export interface ProgressState {
  readonly pages: number;
  readonly rows: number;
  /** All rows there will be, when somebody knows. */
  readonly rowsTotal?: number | undefined;
  /** Set while the platform makes us wait: the wall-clock time at which it goes on. */
  readonly waitingUntilMillis?: number | undefined;
}

/** Ten times a second is smooth; more only flickers. */
const redrawMillis = 100;
/** In a log file a line now and then shows it lives. */
const plainLineMillis = 30_000;
const barWidth = 20;

/** One rewritten line on a terminal, a plain line every half minute elsewhere. Told by the work, never by a timer. */
export class Progress {
  readonly #startedAt: number;
  #waitedMillis = 0;
  #waitingSince: number | undefined;
  #shownAt = Number.NEGATIVE_INFINITY;
  #last: ProgressState = { pages: 0, rows: 0 };

  constructor(
    private readonly label: string,
    private readonly stream: Talk,
    private readonly clock: Clock,
  ) {
    this.#startedAt = clock.monotonic();
  }

  update(state: ProgressState): void {
    const now = this.clock.monotonic();
    const waiting = state.waitingUntilMillis !== undefined;
    const turned = waiting !== (this.#last.waitingUntilMillis !== undefined);
    if (waiting) this.#waitingSince ??= now;
    else if (this.#waitingSince !== undefined) {
      this.#waitedMillis += now - this.#waitingSince;
      this.#waitingSince = undefined;
    }
    this.#last = state;
    if (turned || now - this.#shownAt >= (this.stream.isTTY ? redrawMillis : plainLineMillis)) {
      this.#shownAt = now;
      this.#show(now);
    }
  }

  /** Leaves the last state on a line of its own. */
  finish(): void {
    this.#show(this.clock.monotonic());
    this.stream.settle();
  }

  #show(now: number): void {
    const waited = this.#waitedMillis + (this.#waitingSince === undefined ? 0 : now - this.#waitingSince);
    const worked = now - this.#startedAt - waited;
    const text = progressText(this.label, this.#last, worked, this.clock.now());
    if (this.stream.isTTY) this.stream.draw(text);
    else this.stream.write(`${text}\n`);
  }
}

/** `workedMillis` leaves waits out, so that a pause does not look like slowness. */
export function progressText(
  label: string,
  state: ProgressState,
  workedMillis: number,
  nowMillis: number,
): string {
  const { pages, rows, rowsTotal, waitingUntilMillis } = state;
  const perSecond = workedMillis > 0 ? (rows * 1000) / workedMillis : 0;
  const parts = [label];
  if (rowsTotal !== undefined && rowsTotal > 0) {
    const share = Math.min(1, rows / rowsTotal);
    const filled = Math.floor(share * barWidth);
    parts.push(`[${'#'.repeat(filled)}${'.'.repeat(barWidth - filled)}] ${Math.floor(share * 100)} %`);
  }
  parts.push(counted(rows, 'row') + (pages > 0 ? `, ${counted(pages, 'page')}` : ''));
  if (waitingUntilMillis !== undefined && waitingUntilMillis > nowMillis) {
    const until = instantFromMillis(waitingUntilMillis).slice(11, 19);
    parts.push(`paused by the platform until ${until} UTC (${duration(waitingUntilMillis - nowMillis)})`);
  } else if (perSecond > 0) {
    parts.push(`${grouped(Math.round(perSecond))} rows/s`);
    if (rowsTotal !== undefined && rowsTotal > rows) {
      parts.push(`${duration(((rowsTotal - rows) / perSecond) * 1000)} left`);
    }
  }
  return parts.join('  ');
}
