/** Runs at most `max` works at a time; the others wait in the order in which they came. */
export class Turns {
  #running = 0;
  readonly #waiting: (() => void)[] = [];

  constructor(private readonly max: number) {}

  async take<Result>(work: () => Promise<Result>): Promise<Result> {
    if (this.#running < this.max) this.#running += 1;
    else await new Promise<void>((resolve) => this.#waiting.push(resolve));
    try {
      return await work();
    } finally {
      // The turn passes on directly, so that a work that comes now cannot overtake.
      const next = this.#waiting.shift();
      if (next === undefined) this.#running -= 1;
      else next();
    }
  }
}
