import { spawnSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { inQueryFolder, removeQueryFolders } from '../../src/reading/query-folders.js';
import { processSpace } from '../../src/runtime/process-identity.js';

test('folders of killed processes are removed with their files, and no others', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'rosterd-test-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  vi.stubEnv('TMPDIR', folder);
  onTestFinished(() => void vi.unstubAllEnvs());
  const dead = spawnSync(process.execPath, ['-e', '']).pid;
  const now = Date.now();
  const space = processSpace();
  const made = (name: string): string => {
    mkdirSync(join(folder, name));
    writeFileSync(join(folder, name, 'query.parquet'), 'Ada');
    return name;
  };
  const own = `rosterd-query-${process.pid}-${space}-aaaaaa`;
  const left = [made(`rosterd-query-${dead}-${space}-aaaaaa`), made(own)];
  const strange = made(`rosterd-query-${dead}-1-abc-aaaaaa`);
  const old = made(`rosterd-query-${dead}-1-abc-bbbbbb`);
  utimesSync(join(folder, old), now / 1_000 - 90_000, now / 1_000 - 90_000);
  const kept = [
    strange,
    made(`rosterd-query-${process.ppid}-${space}-aaaaaa`),
    made('rosterd-query-of-someone'),
    made('elsewhere'),
  ];
  const link = `rosterd-query-${dead}-${space}-llllll`;
  symlinkSync(join(folder, 'elsewhere'), join(folder, link));

  await inQueryFolder(async (used) => {
    removeQueryFolders(now);
    expect(existsSync(used)).toBe(true);
  });
  expect(readdirSync(folder).sort()).toEqual([...kept, link].sort());
  expect(left.map((name) => existsSync(join(folder, name)))).toEqual([false, false]);
  expect(readdirSync(join(folder, 'elsewhere'))).toEqual(['query.parquet']);
});
