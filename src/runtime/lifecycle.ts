/** A part that must be stopped. Stopping twice is stopping once. */
export interface Closable {
  close(): Promise<void>;
}

/** Things are closed in the reverse order of their opening; one that fails to close does not keep the others open. */
export class Lifecycle implements Closable {
  readonly #open: { readonly name: string; readonly close: () => Promise<void> | void }[] = [];
  #closing: Promise<void> | undefined;

  add(name: string, close: () => Promise<void> | void): void {
    this.#open.push({ name, close });
  }

  /** What has not been closed yet, for a process that will not end. */
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
    if (failures.length > 0) throw new AggregateError(failures, 'some parts did not close');
  }
}
