import { lstatSync, type Stats, statSync } from 'node:fs';
import { Fault } from '../domain/fault.js';

/**
 * Throws `usage` for a path that is a device, a pipe or a link of the system, such as /dev/null and /dev/stdout. A new file
 * is written beside its target and renamed, which would put an ordinary file in the place of the device.
 */
export function requireReplaceable(file: string): void {
  const target = statsOf(statSync, file);
  if (target === null) return;
  const isSystemLink = systemLinks.test(file) && statsOf(lstatSync, file)?.isSymbolicLink() === true;
  if (!isSystemLink && (target.isFile() || target.isDirectory())) return;
  throw new Fault('usage', `${file} is not an ordinary file, and would be replaced by one`, {
    hint: 'Name a file. Only `rosterd export` without --out writes to stdout.',
  });
}

/** A link in /dev/shm is an ordinary one. */
const systemLinks = /^\/(?:proc\/|dev\/(?:fd\/|std(?:in|out|err)$))/;

function statsOf(read: (path: string) => Stats, path: string): Stats | null {
  try {
    return read(path);
  } catch {
    return null;
  }
}
