/*
 * Loaded with `--import` into the processes that run tests, and into those that they start. What such a process waits for
 * outside itself is sometimes late, as on a slow machine. Nothing else changes.
 */
import { syncBuiltinESMExports } from 'node:module';
import { onRestart, readSetting, settingName } from './setting.js';
import { slowFiles } from './slow-files.js';
import { slowParentMessages, slowProcesses, startLate } from './slow-processes.js';
import { slowSockets } from './slow-sockets.js';
import { slownessOf } from './slowness.js';

const setting = readSetting(process.env[settingName]);
const script = process.argv[1] ?? '';
// It only starts the processes that run tests.
const isRunner = script.endsWith('/vitest.mjs');

if (setting !== null && !isRunner) {
  const slowness = slownessOf(setting);
  // The runner's own messages have no part in a test.
  const isWorker = script.includes('/node_modules/vitest/');
  if (!isWorker) startLate(slowness);
  await slowFiles(slowness);
  slowSockets(slowness);
  slowProcesses(slowness, setting);
  if (!isWorker) slowParentMessages(slowness);
  syncBuiltinESMExports();
  onRestart(slowness.restart);
}
