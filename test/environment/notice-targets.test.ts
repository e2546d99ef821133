import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { noticeTargets } from '../../src/daemon/notices.js';
import { systemClock } from '../../src/runtime/clock.js';
import { folder, load, minimal } from '../config/load-config.js';

test('notices: a command does not inherit the variable of a secret, but all others', async () => {
  vi.stubEnv('ACME_TOKEN', 'at_live_1');
  vi.stubEnv('ROSTERD_TEST_PLAIN', 'plain');
  onTestFinished(() => void vi.unstubAllEnvs());
  const file = join(folder(), 'env.json');
  const script = "require('fs').writeFileSync(process.argv[1], JSON.stringify(process.env))";
  const command = [process.execPath, '-e', script, file];
  const { config } = load({ ...minimal, notices: [{ kind: 'command', name: 'bell', command }] });
  const { targets, close } = noticeTargets(config, systemClock);
  const notice = { notice: 1, source: 'acme', target: 'bell', body: '{}', attempts: 0 };
  const sent = await targets.get('bell')?.(
    { ...notice, queuedAt: '2026-10-20T12:00:00.000Z' as never },
    new AbortController().signal,
  );
  expect(sent).toEqual({ kind: 'delivered' });
  const env: unknown = JSON.parse(readFileSync(file, 'utf8'));
  expect(env).toMatchObject({ ROSTERD_TEST_PLAIN: 'plain' });
  expect(env).not.toHaveProperty('ACME_TOKEN');
  await close();
});
