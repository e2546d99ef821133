/*
 * Loaded into a process that a test starts: keeps what it says to people and to its log, at debug level, and passes on
 * what it would have said without. Plain JavaScript, so that the compiled program runs without a loader.
 */
import { appendFileSync } from 'node:fs';
import { join } from 'node:path';

const file = join(process.env.CANARY_FOLDER ?? '', `said-${process.pid}.jsonl`);
const test = `the process ${process.argv.slice(1, 3).join(' ')} of ${process.env.CANARY_TEST}`;
const write = process.stderr.write.bind(process.stderr);

process.stderr.write = (chunk, ...rest) => {
  const text = String(chunk);
  appendFileSync(file, `${JSON.stringify({ way: 'words', text, test })}\n`);
  // What the level adds is for these ears alone.
  if (/^\{"level":"debug"|^\S*\[[^\]]*\] \S*DEBUG/.test(text)) {
    rest.find((one) => typeof one === 'function')?.();
    return true;
  }
  return write(chunk, ...rest);
};
