import { type Stats, statSync } from 'node:fs';

/** Returns whether two paths name one file, links followed. */
export function isSameFile(one: string, other: string): boolean {
  const [first, second] = [one, other].map(statOf);
  return first != null && second != null && first.dev === second.dev && first.ino === second.ino;
}

/** Returns null for a path that leads nowhere, such as one through a file. */
export function statOf(path: string): Stats | null {
  try {
    return statSync(path);
  } catch {
    return null;
  }
}
