#!/usr/bin/env node
import { keepHeapLean } from '../runtime/lean-heap.js';
import { runProcess } from './process.js';
import { startArgs } from './start-args.js';

keepHeapLean();
await runProcess(startArgs(process.argv.slice(2), process.cwd(), process.env));
