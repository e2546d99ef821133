import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { startArgs } from '../../src/cli/start-args.js';
import { folder } from '../config/load-config.js';

test('npm start runs the demo when there is no configuration, and the daemon otherwise', () => {
  const cwd = folder();
  expect(startArgs([], cwd, {})).toEqual(['demo']);
  expect(startArgs(['--config', 'x.json'], cwd, {})).toEqual(['run', '--config', 'x.json']);
  expect(startArgs([], cwd, { ROSTERD_CONFIG: 'x.json' })).toEqual(['run']);
  writeFileSync(join(cwd, 'config.json'), '{}');
  expect(startArgs(['--log-level', 'debug'], cwd, {})).toEqual(['run', '--log-level', 'debug']);
});
