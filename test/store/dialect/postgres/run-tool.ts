import { runTool } from '../../../../src/store/dialect/postgres/pg-tools.js';

/** Runs a program that writes its number into a pipe, keeps that open, and writes messages without end. */
const [, , pipe = ''] = process.argv;
await runTool(
  'sh',
  ['-c', 'exec 3>"$0"; echo $$ >&3; exec yes >&2', pipe],
  process.env,
  new AbortController().signal,
);
