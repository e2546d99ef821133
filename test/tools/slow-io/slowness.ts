import type { Setting } from './setting.js';

/** How long an operation waits before it begins, and how long its result waits afterwards. */
export interface Waits {
  readonly before: number;
  readonly after: number;
}

export interface Slowness {
  /** Returns the milliseconds by which the next operation of this name is late; mostly 0. */
  late(operation: string): number;
  /** Returns the same, divided into a wait before the operation and one after it. */
  waits(operation: string): Waits;
  /** Counts operations from the first again, so that a test file does not depend on the files before it. */
  restart(): void;
}

/** The share of names that a seed makes slow often, and the share of their operations, and of the others', that is late. */
const slowNames = 1 / 3;
const slowOften = 0.5;
const slowSeldom = 0.03;

/** Where one exchange with a server is several operations. */
const frequent: ReadonlySet<string> = new Set(['data', 'handle.read', 'handle.write', 'read', 'write']);

/** Returns a fraction in [0, 1) that follows from the words: FNV-1a, mixed as in MurmurHash3. */
export function fractionOf(...words: readonly (string | number)[]): number {
  let hash = 0x811c9dc5;
  for (const character of words.join(' ')) hash = Math.imul(hash ^ character.charCodeAt(0), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return ((hash ^ (hash >>> 16)) >>> 0) / 2 ** 32;
}

/**
 * Returns delays of 1 to `longest` milliseconds that follow from the seed, the name of the operation and how many of that
 * name came before. Each seed chooses other names that are slow often, such as `stat` and `connect`. The others are slow
 * seldom, so one part of a program is late while another is fast. Short delays are more frequent than long ones.
 */
export function slownessOf({ seed, longest }: Setting): Slowness {
  const counts = new Map<string, number>();
  const late = (operation: string) => {
    const count = (counts.get(operation) ?? 0) + 1;
    counts.set(operation, count);
    const often = fractionOf(seed, operation) < slowNames ? slowOften : slowSeldom;
    const share = frequent.has(operation) ? often / 4 : often;
    if (fractionOf(seed, operation, count, 'whether') >= share) return 0;
    return Math.ceil(longest * fractionOf(seed, operation, count, 'how long') ** 2);
  };
  return {
    late,
    waits: (operation) => {
      const millis = late(operation);
      const before = fractionOf(seed, operation, counts.get(operation) ?? 0, 'when') < 0.5;
      return before ? { before: millis, after: 0 } : { before: 0, after: millis };
    },
    restart: () => counts.clear(),
  };
}
