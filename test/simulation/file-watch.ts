import fs, { type Stats } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { basename, dirname, join } from 'node:path';
import type { Chance } from './chance.js';
import type { Watched } from './database-watch.js';

/**
 * State that a power cut may still lose: the content of an unsynced file, or a rename whose folder was not synced.
 */
interface Unsure {
  readonly empty: Set<string>;
  readonly renamed: Map<string, Buffer | null>;
}

type Operation = (...args: never[]) => unknown;

/** A folder is only made before a file in it is written, which is the next step. */
const unchanging = new Set(['readFile', 'stat', 'statfs', 'readdir', 'mkdir']);

const changes = (operation: string, flags: unknown) =>
  operation === 'open' ? flags !== 'r' : !unchanging.has(operation);

/**
 * Files beside the database, behind the interface of `node:fs/promises`. Node does this work on threads that
 * finish in any order. Here each step completes at once in the requested order, or never if its process has died.
 */
export class FileWatch {
  readonly #processes = new Map<string, Watched>();
  readonly #unsure = new Map<string, Unsure>();
  readonly #undo: () => void;

  constructor(readonly root: string) {
    const promises = fs.promises as unknown as Record<string, Operation>;
    const operations: Record<string, Operation> = {
      open: (path: string, flags: string, mode: number) => this.#handle(path, flags, mode),
      readFile: fs.readFileSync,
      writeFile: (path: string, text: string, options: object) => {
        fs.writeFileSync(path, text, options);
        this.#unsureOf(path).empty.add(basename(path));
      },
      rename: (from: string, to: string) => this.#rename(from, to),
      link: fs.linkSync,
      rm: fs.rmSync,
      stat: fs.statSync,
      statfs: fs.statfsSync,
      readdir: fs.readdirSync,
      mkdir: fs.mkdirSync,
    };
    const before = new Map<string, Operation>();
    for (const [name, operation] of Object.entries(operations)) {
      const original = promises[name];
      if (original === undefined) throw new Error(`node:fs/promises has no ${name} any more`);
      before.set(name, original);
      promises[name] = ((path: string, ...rest: never[]) =>
        String(path).startsWith(root)
          ? this.#step(path, () => operation(...([path, ...rest] as never[])), changes(name, rest[0]))
          : original(...([path, ...rest] as never[]))) as Operation;
    }
    syncBuiltinESMExports();
    this.#undo = () => {
      for (const [name, original] of before) promises[name] = original;
      syncBuiltinESMExports();
    };
  }

  undo(): void {
    this.#undo();
  }

  /** Drops the state of a finished run and its disks. */
  forget(): void {
    this.#unsure.clear();
  }

  own(folder: string, watched: Watched): void {
    this.#processes.set(folder, watched);
  }

  disown(folder: string): void {
    this.#processes.delete(folder);
  }

  /** After a power cut: decides for each unsynced step whether it happened. */
  cutPower(from: string, to: string, chance: Chance): void {
    const unsure = this.#unsure.get(fs.realpathSync(from));
    if (unsure === undefined) return;
    for (const name of unsure.empty)
      if (fs.existsSync(join(to, name)) && chance.yes(0.5)) fs.truncateSync(join(to, name));
    for (const [name, before] of unsure.renamed) {
      if (!chance.yes(0.5)) continue;
      if (before === null) fs.rmSync(join(to, name), { force: true });
      else fs.writeFileSync(join(to, name), before, { mode: 0o600 });
    }
  }

  /**
   * Only steps that change something are crash points: dying before a read equals dying before the next change.
   */
  #step<Result>(path: string, work: () => Result, changes: boolean): Promise<Result> {
    // A path of a process is its folder or a file directly in it.
    const process = this.#processes.get(path) ?? this.#processes.get(dirname(path));
    return new Promise((resolve, reject) => {
      try {
        // A dead process gets no result.
        if (process === undefined || process.dead) return;
        if (changes) process.onStep('file');
        resolve(work());
      } catch (error) {
        if ((error as Error).name !== 'Crash') reject(error as Error);
      }
    });
  }

  #handle(path: string, flags: string, mode: number) {
    const descriptor = fs.openSync(path, flags, mode);
    const look = <Result>(work: () => Result) => this.#step(path, work, false);
    const step = <Result>(work: () => Result) => this.#step(path, work, true);
    return {
      stat: (): Promise<Stats> => look(() => fs.fstatSync(descriptor)),
      readFile: (encoding: BufferEncoding) => look(() => fs.readFileSync(descriptor, encoding)),
      writeFile: (text: string) =>
        step(() => {
          fs.writeFileSync(descriptor, text);
          this.#unsureOf(path).empty.add(basename(path));
        }),
      sync: () => step(() => this.#sync(path)),
      close: async () => fs.closeSync(descriptor),
    };
  }

  #sync(path: string): void {
    if (fs.statSync(path).isDirectory()) this.#unsureOf(join(path, 'anything')).renamed.clear();
    else this.#unsureOf(path).empty.delete(basename(path));
  }

  #rename(from: string, to: string): void {
    const unsure = this.#unsureOf(to);
    const before = fs.existsSync(to) ? fs.readFileSync(to) : null;
    fs.renameSync(from, to);
    if (!unsure.renamed.has(basename(to))) unsure.renamed.set(basename(to), before);
    unsure.empty.delete(basename(to));
    if (unsure.empty.delete(basename(from))) unsure.empty.add(basename(to));
  }

  #unsureOf(path: string): Unsure {
    const folder = fs.realpathSync(dirname(path));
    const known = this.#unsure.get(folder);
    if (known !== undefined) return known;
    const made = { empty: new Set<string>(), renamed: new Map<string, Buffer | null>() };
    this.#unsure.set(folder, made);
    return made;
  }
}
