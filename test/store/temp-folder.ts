import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';

/** Registers what is done at the end, such as `onTestFinished`. */
export type AtEnd = (end: () => Promise<void> | void) => void;

/** Creates a folder for the running test, deleted when it finishes. */
export function tempFolder(atEnd: AtEnd = onTestFinished): string {
  const folder = mkdtempSync(join(tmpdir(), 'rosterd-store-'));
  atEnd(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}
