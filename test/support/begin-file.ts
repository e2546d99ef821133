import { beginStreams } from './chance.js';

// vitest runs this before each test file, also before those that share a process.
beginStreams();
