/** A component that must be closed. Closing it twice has no further effect. */
export interface Closable {
  close(): Promise<void>;
}

/**
 * Closes components in the reverse order of their opening. One that fails to close does not keep the others open. One that
 * is added while the others close, or afterwards, is closed too: a start may still be under way.
 */
export class Lifecycle implements Closable {
  readonly #open: { readonly name: string; readonly close: () => Promise<void> | void }[] = [];
  #closing: Promise<void> | undefined;
  #isClosed = false;

  add(name: string, close: () => Promise<void> | void): void {
    this.#open.push({ name, close });
    if (!this.#isClosed) return;
    this.#closing = this.#closeAll();
    // A later `close` reports the failure.
    this.#closing.catch(() => {});
  }

  /** The names of components not closed yet, for diagnosing a process that does not end. */
  get open(): readonly string[] {
    return this.#open.map((part) => part.name);
  }

  close(): Promise<void> {
    this.#closing ??= this.#closeAll();
    return this.#closing;
  }

  async #closeAll(): Promise<void> {
    this.#isClosed = false;
    const failures: unknown[] = [];
    for (let part = this.#open.at(-1); part !== undefined; part = this.#open.at(-1)) {
      try {
        await part.close();
      } catch (error) {
        failures.push(error);
      }
      // Not the last one any more if others came meanwhile.
      this.#open.splice(this.#open.lastIndexOf(part), 1);
    }
    this.#isClosed = true;
    // Alone, it is what its reader needs: a fault says what to do next.
    if (failures.length === 1) throw failures[0];
    if (failures.length > 0) throw new AggregateError(failures, 'some parts did not close');
  }
}
