/** An entry of a queue: smaller times come first, and equal ones in the order in which they were added. */
export interface Due {
  readonly dueAt: number;
}

interface Node<Entry> {
  readonly entry: Entry;
  readonly no: number;
}

/** A queue in due order, as a binary heap. Adding, taking and removing take logarithmic time. */
export class DueQueue<Entry extends Due> {
  readonly #heap: Node<Entry>[] = [];
  readonly #removed = new Set<Entry>();
  #added = 0;

  get size(): number {
    return this.#heap.length - this.#removed.size;
  }

  add(entry: Entry): void {
    this.#added += 1;
    this.#heap.push({ entry, no: this.#added });
    this.#up(this.#heap.length - 1);
  }

  /** The entry must be in the queue. */
  remove(entry: Entry): void {
    this.#removed.add(entry);
  }

  peek(): Entry | undefined {
    for (;;) {
      const first = this.#heap[0]?.entry;
      if (first === undefined || !this.#removed.delete(first)) return first;
      this.#shift();
    }
  }

  take(): Entry | undefined {
    const first = this.peek();
    if (first !== undefined) this.#shift();
    return first;
  }

  #shift(): void {
    const last = this.#heap.pop();
    if (last === undefined || this.#heap.length === 0) return;
    this.#heap[0] = last;
    this.#down();
  }

  #up(from: number): void {
    for (let at = from; at > 0; ) {
      const parent = (at - 1) >> 1;
      if (!this.#swapIfBefore(at, parent)) return;
      at = parent;
    }
  }

  #down(): void {
    for (let at = 0; ; ) {
      const left = 2 * at + 1;
      const right = left + 1;
      const child = this.#isBefore(right, left) ? right : left;
      if (!this.#swapIfBefore(child, at)) return;
      at = child;
    }
  }

  #swapIfBefore(lower: number, upper: number): boolean {
    if (!this.#isBefore(lower, upper)) return false;
    const [a, b] = [this.#heap[lower], this.#heap[upper]];
    if (a === undefined || b === undefined) return false;
    this.#heap[lower] = b;
    this.#heap[upper] = a;
    return true;
  }

  /** An index beyond the end comes after every other. */
  #isBefore(one: number, other: number): boolean {
    const [a, b] = [this.#heap[one], this.#heap[other]];
    if (a === undefined) return false;
    if (b === undefined) return true;
    return a.entry.dueAt === b.entry.dueAt ? a.no < b.no : a.entry.dueAt < b.entry.dueAt;
  }
}
