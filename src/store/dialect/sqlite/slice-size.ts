/** What one of several commits should take: other writers of the mirror wait for each of them. */
const commitMillis = 20;

const rowsMin = 100;

/**
 * The number of rows for the next of several commits. In a large file or on a slow disk, rows take a multiple of the time that they
 * take in a small one, so the time of each commit decides about the next.
 */
export class SliceSize {
  #rows: number;

  constructor(private readonly rowsMax: number) {
    this.#rows = rowsMax;
  }

  get rows(): number {
    return this.#rows;
  }

  /** Call it with the time of a commit of so many rows. One commit at most quarters or doubles the number. */
  took(millis: number): void {
    const factor = Math.min(2, Math.max(0.25, commitMillis / Math.max(1, millis)));
    this.#rows = Math.min(this.rowsMax, Math.max(rowsMin, Math.round(this.#rows * factor)));
  }
}
