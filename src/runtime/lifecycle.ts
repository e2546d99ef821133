/** A component that must be closed. Closing it twice has no further effect. */
export interface Closable {
  close(): Promise<void>;
}

/** Closes components in the reverse order of their opening. One that fails to close does not keep the others open. */
export class Lifecycle implements Closable {
  readonly #open: { readonly name: string; readonly close: () => Promise<void> | void }[] = [];
  #closing: Promise<void> | undefined;

  add(name: string, close: () => Promise<void> | void): void {
    this.#open.push({ name, close });
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
    const failures: unknown[] = [];
    for (let part = this.#open.at(-1); part !== undefined; part = this.#open.at(-1)) {
      try {
        await part.close();
      } catch (error) {
        failures.push(error);
      }
      this.#open.pop();
    }
    // Alone, it is what its reader needs: a fault says what to do next.
    if (failures.length === 1) throw failures[0];
    if (failures.length > 0) throw new AggregateError(failures, 'some parts did not close');
  }
}
