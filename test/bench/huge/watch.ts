import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { basename, join } from 'node:path';

/*
 * Watches a process and all that it starts, from outside: processor time and peak memory of each, and how much space a
 * folder takes meanwhile. Only on Linux; elsewhere nothing is known.
 */

export interface Watched {
  /** Processor seconds of the tree, its ended processes included as far as they were seen. */
  readonly cpuSeconds: number;
  /** The peak memory in megabytes by what the process does; of several of a kind, the largest. */
  readonly memory: Readonly<Record<string, number>>;
  /** The most space that the folders took, in megabytes. */
  readonly diskMegabytes: number;
}

const everyMillis = 100;
const folderEvery = 10;

export class Watch {
  readonly #root: number;
  readonly #folders: readonly string[];
  readonly #cpu = new Map<number, number>();
  readonly #memory = new Map<string, number>();
  readonly #before = new Map<number, number>();
  readonly #timer: NodeJS.Timeout;
  #disk = 0;
  #looks = 0;

  /** `serves`: the root lives on after the watch, so only what its tree does from now on counts. */
  constructor(root: number, folders: readonly string[], serves = false) {
    this.#root = root;
    this.#folders = folders;
    if (serves) for (const { pid, cpuSeconds } of treeOf(root)) this.#before.set(pid, cpuSeconds);
    this.#look();
    this.#timer = setInterval(() => this.#look(), everyMillis);
    this.#timer.unref();
  }

  end(): Watched {
    clearInterval(this.#timer);
    this.#looks = 0;
    this.#look();
    let cpuSeconds = 0;
    for (const [pid, seconds] of this.#cpu) cpuSeconds += seconds - (this.#before.get(pid) ?? 0);
    return { cpuSeconds, memory: Object.fromEntries(this.#memory), diskMegabytes: this.#disk };
  }

  #look(): void {
    for (const { pid, name, cpuSeconds, megabytes } of treeOf(this.#root)) {
      this.#cpu.set(pid, cpuSeconds);
      // An ended process that its parent has not noticed has neither name nor memory.
      if (name !== '') this.#memory.set(name, Math.max(this.#memory.get(name) ?? 0, megabytes));
    }
    if (this.#looks % folderEvery === 0) {
      const megabytes = this.#folders.reduce((sum, folder) => sum + bytesIn(folder), 0) / 1e6;
      this.#disk = Math.max(this.#disk, megabytes);
    }
    this.#looks += 1;
  }
}

interface Seen {
  readonly pid: number;
  readonly name: string;
  readonly cpuSeconds: number;
  readonly megabytes: number;
}

function treeOf(root: number): readonly Seen[] {
  if (process.platform !== 'linux') return [];
  const found: Seen[] = [];
  for (const pids = [root]; pids.length > 0; ) {
    const pid = pids.pop() ?? 0;
    try {
      pids.push(...childrenOf(pid));
      found.push(seen(pid));
    } catch {
      // It has ended meanwhile.
    }
  }
  return found;
}

function childrenOf(pid: number): readonly number[] {
  return readdirSync(`/proc/${pid}/task`).flatMap((thread) =>
    readFileSync(`/proc/${pid}/task/${thread}/children`, 'utf8')
      .split(' ')
      .flatMap((text) => (text.trim() === '' ? [] : [Number(text)])),
  );
}

function seen(pid: number): Seen {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  const words = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0');
  // A backend of PostgreSQL counts what is its own: each shows the shared buffers it touched as well.
  const isServer = words[0]?.startsWith('postgres') === true || basename(words[0] ?? '') === 'postgres';
  const [, kilobytes] = (isServer ? /^RssAnon:\s+(\d+) kB$/m : /^VmHWM:\s+(\d+) kB$/m).exec(status) ?? [];
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
    .replace(/^.*\) /, '')
    .split(' ');
  // Times of ended children are counted where they were seen; those of a server are short and come with its process.
  const ticks = [11, 12, ...(isServer ? [13, 14] : [])].reduce((sum, at) => sum + Number(fields[at]), 0);
  return {
    pid,
    name: isServer ? 'postgres' : nameOf(words),
    cpuSeconds: ticks / ticksASecond(),
    megabytes: Number(kilobytes ?? 0) / 1024,
  };
}

/** Names a process by the script that it runs. */
function nameOf(words: readonly string[]): string {
  const script = words.slice(1).find((word) => /\.(js|ts)$/.test(word));
  return script === undefined ? basename(words[0] ?? 'unknown') : basename(script).replace(/\.(js|ts)$/, '');
}

let ticks: number | undefined;
function ticksASecond(): number {
  ticks ??= Number(execFileSync('getconf', ['CLK_TCK'], { encoding: 'utf8' }));
  return ticks;
}

/** Returns how many bytes the files of a folder take on the disk. */
export function bytesIn(folder: string): number {
  let bytes = 0;
  for (const folders = [folder]; folders.length > 0; ) {
    const path = folders.pop() ?? '';
    try {
      for (const entry of readdirSync(path, { withFileTypes: true })) {
        const inside = join(path, entry.name);
        if (entry.isDirectory()) folders.push(inside);
        else if (entry.isFile()) bytes += statSync(inside).blocks * 512;
      }
    } catch {
      // It has been deleted meanwhile.
    }
  }
  return bytes;
}
