const hourSeconds = 3_600;
const minuteSeconds = 60;

/** One status line about a long batch: rewritten on a terminal, printed once a minute elsewhere. */
export class Progress {
  #told = 0;

  constructor(
    readonly seeds: number,
    readonly seconds: () => number,
    readonly output: NodeJS.WriteStream = process.stderr,
  ) {}

  tell(done: number, violations: number): void {
    const now = this.seconds();
    if (now - this.#told < (this.output.isTTY ? 1 : minuteSeconds)) return;
    this.#told = now;
    const left = ((this.seeds - done) * now) / Math.max(1, done);
    const line = `${done} of ${this.seeds} seeds, ${violations} violations, ${(done / now).toFixed(1)} seeds/s, ${spoken(left)} left`;
    this.output.write(this.output.isTTY ? `\r\u001b[K${line}` : `${line}\n`);
  }

  /** Clears the line, to print one that stays. */
  clear(): void {
    if (this.output.isTTY) this.output.write('\r\u001b[K');
  }
}

const spoken = (seconds: number) =>
  seconds >= hourSeconds
    ? `${(seconds / hourSeconds).toFixed(1)} h`
    : seconds >= minuteSeconds
      ? `${Math.round(seconds / minuteSeconds)} min`
      : `${Math.round(seconds)} s`;
