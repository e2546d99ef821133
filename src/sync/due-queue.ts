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
    const node = { entry, no: this.#added };
    for (let at = this.#heap.length; ; ) {
      const parent = (at - 1) >> 1;
      const above = this.#heap[parent];
      if (above === undefined || !isBefore(node, above)) {
        this.#heap[at] = node;
        return;
      }
      this.#heap[at] = above;
      at = parent;
    }
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
    this.#shift();
    return first;
  }

  /** Takes out the first node, if there is one. */
  #shift(): void {
    const last = this.#heap.pop();
    if (last === undefined || this.#heap.length === 0) return;
    for (let at = 0; ; ) {
      const left = 2 * at + 1;
      const child = isBefore(this.#heap[left + 1], this.#heap[left]) ? left + 1 : left;
      const below = this.#heap[child];
      if (below === undefined || !isBefore(below, last)) {
        this.#heap[at] = last;
        return;
      }
      this.#heap[at] = below;
      at = child;
    }
  }
}

/** Returns whether there is such a node and it comes before the other. */
function isBefore<Entry extends Due>(one: Node<Entry> | undefined, other: Node<Entry> | undefined): boolean {
  if (one === undefined || other === undefined) return false;
  return one.entry.dueAt === other.entry.dueAt ? one.no < other.no : one.entry.dueAt < other.entry.dueAt;
}
