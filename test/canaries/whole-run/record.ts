import { appendFileSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { type Known, knownFile, type Said, saidFile, type Way } from './kept.js';

/** Every worker writes its own files, one whole line at a time. */
function recorder(folder: string) {
  mkdirSync(folder, { recursive: true });
  const seen = new Set<string>();
  const write = (name: string, line: Said | Known) =>
    appendFileSync(join(folder, `${name}-${process.pid}.jsonl`), `${JSON.stringify(line)}\n`);
  return {
    said(way: Way, text: string): void {
      const { testPath, currentTestName } = expect.getState();
      write(saidFile, { way, text, test: `${testPath ?? '?'} > ${currentTestName ?? '?'}` });
    },
    known(what: string, value: string | null): void {
      if (value === null || seen.has(value)) return;
      seen.add(value);
      write(knownFile, { what, value });
    },
  };
}

export const record = recorder(process.env.CANARY_FOLDER ?? '');
