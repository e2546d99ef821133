import { restartSlowIo } from '../tools/slow-io/setting.js';
import { beginStreams } from './chance.js';

// vitest runs this before each test file, also before those that share a process.
beginStreams();
restartSlowIo();
