/** The last lines of the log, in memory, for `rosterd support-bundle`. They contain what the log contains. */
export class LogTail {
  readonly #lines: string[] = [];

  constructor(private readonly max = 500) {}

  push(line: string): void {
    this.#lines.push(line.trimEnd());
    if (this.#lines.length > this.max) this.#lines.shift();
  }

  lines(): readonly string[] {
    return [...this.#lines];
  }
}
