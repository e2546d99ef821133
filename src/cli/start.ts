#!/usr/bin/env node
import { begin } from './begin.js';

begin(async () => {
  const [{ runCommandLine }, { startArgs }] = await Promise.all([
    import('./command-line.js'),
    import('./start-args.js'),
  ]);
  await runCommandLine((args) => startArgs(args, process.cwd(), process.env));
});
