/**
 * Counts what occurred in a batch. A class of faults that never occurred was not tested, even if the run passes.
 */
export class Counters {
  readonly counts = new Map<string, number>();

  add(name: string, times = 1): void {
    this.counts.set(name, (this.counts.get(name) ?? 0) + times);
  }

  of(name: string): number {
    return this.counts.get(name) ?? 0;
  }

  sorted(): readonly (readonly [string, number])[] {
    return [...this.counts].sort(([a], [b]) => (a < b ? -1 : 1));
  }

  merge(other: ReadonlyMap<string, number>): void {
    for (const [name, times] of other) this.add(name, times);
  }
}
