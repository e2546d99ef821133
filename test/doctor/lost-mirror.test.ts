import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { LoadedConfig } from '../../src/config/document.js';
import { diagnose } from '../../src/doctor/doctor.js';
import { folder, load, minimal } from '../config/load-config.js';
import { partsFor } from '../daemon/daemon-fixture.js';
import { placeMigrated } from '../support/migrated-file.js';

test('doctor reports a mirror that cannot be opened any more after it was checked, and runs the other checks', async () => {
  const cwd = folder();
  const file = join(cwd, 'mirror.db');
  placeMigrated(file);
  const platform = { ...minimal.platform, baseUrl: 'http://127.0.0.1:1' };
  const loaded = load({ ...minimal, platform, database: `sqlite:${file}` }, { cwd });
  const config = {
    ...loaded.config,
    platform: {
      ...loaded.config.platform,
      // Read when the session is opened, which is behind the checks of the file.
      get caFile() {
        rmSync(file, { force: true });
        return null;
      },
    },
  };
  const { checks, healthy } = await diagnose(
    async (): Promise<LoadedConfig> => ({ ...loaded, config }),
    { ...partsFor(config), nodeVersion: process.version },
    new AbortController().signal,
  );
  const verdicts = new Map(checks.map(({ name, verdict }) => [name, verdict]));
  expect(healthy).toBe(false);
  expect([verdicts.get('database.file'), verdicts.get('database.reading')]).toEqual(['pass', 'fail']);
  expect(checks.at(-1)?.name).toMatch(/^endpoint/);
});
