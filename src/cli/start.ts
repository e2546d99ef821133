#!/usr/bin/env node
import { runProcess } from './process.js';
import { startArgs } from './start-args.js';

await runProcess(startArgs(process.argv.slice(2), process.cwd(), process.env));
