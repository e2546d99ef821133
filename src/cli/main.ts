#!/usr/bin/env node
import { keepHeapLean } from '../runtime/lean-heap.js';
import { runProcess } from './process.js';

keepHeapLean();
await runProcess(process.argv.slice(2));
